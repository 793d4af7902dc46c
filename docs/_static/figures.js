// Charts that scroll inside their figure, on a phone, can be reached with the keyboard.
for (const figure of document.querySelectorAll(".bd-content figure"))
  if (figure.scrollWidth > figure.clientWidth) figure.tabIndex = 0
