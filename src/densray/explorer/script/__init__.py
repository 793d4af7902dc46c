"""The script Streamlit runs, apart from the pages: beside a folder ``pages`` it would take each file there for one."""
