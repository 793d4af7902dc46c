// On a phone, a table of texts shows each row as a block; every cell has the name of its column. Tables of numbers
// scroll sideways, and their first column stays.
for (const table of document.querySelectorAll(".bd-article table.table:not(.autosummary)")) {
  const names = [...(table.tHead?.rows[0]?.cells ?? [])].map(cell => cell.textContent.trim())
  if (names.length < 3 || table.querySelector("td.text-right, td.text-center, [colspan]")) continue
  table.classList.add("texts")
  for (const row of table.tBodies[0]?.rows ?? [])
    [...row.cells].forEach((cell, place) => { cell.dataset.column = names[place] ?? "" })
}
