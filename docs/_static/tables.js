// On a phone, a table of texts shows each row as a block; every cell has the name of its column. Tables of numbers
// scroll sideways, and the column that names their rows stays: of the columns before the numbers, the one that repeats
// itself least.
for (const table of document.querySelectorAll(".bd-article table.table:not(.autosummary)")) {
  const head = [...(table.tHead?.rows[0]?.cells ?? [])], rows = [...(table.tBodies[0]?.rows ?? [])]
  if (head.length < 3 || table.querySelector("td.text-right, td.text-center, [colspan]")) {
    const numbers = head.findIndex(cell => cell.matches(".text-right, .text-center"))
    const distinct = head.slice(0, Math.max(numbers, 1))
      .map((_, place) => new Set(rows.map(row => row.cells[place]?.textContent)).size)
    const place = distinct.indexOf(Math.max(...distinct))
    for (const row of [table.tHead?.rows[0], ...rows]) row?.cells[place]?.classList.add("row-name")
    continue
  }
  table.classList.add("texts")
  for (const row of rows)
    [...row.cells].forEach((cell, place) => { cell.dataset.column = head[place]?.textContent.trim() ?? "" })
}
