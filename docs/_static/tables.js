// On a phone, a table of texts, or one that is wider than the page, shows each row as a block; every cell has the name
// of its column. Where there is room, tables of numbers scroll sideways, and the column that names their rows stays: of
// the columns before the numbers, the one that repeats itself least.
// A long table shows its first rows there, and a button that shows all of them (pages.css hides both elsewhere).
const phone = matchMedia("(max-width: 720px)")
const LONG = 8

function fold(table, count) {
  const button = document.createElement("button")
  button.className = "all-rows"
  button.type = "button"
  button.textContent = `Show all ${count} rows`
  const unfold = () => { table.classList.remove("folded"); button.remove() }
  button.addEventListener("click", unfold)
  table.classList.add("folded")
  table.parentElement.after(button)
  const unfoldTarget = () => { if (location.hash && table.querySelector(`#${CSS.escape(location.hash.slice(1))}`)) unfold() }
  addEventListener("hashchange", unfoldTarget)
  unfoldTarget()
}

for (const table of document.querySelectorAll(".bd-article table.table:not(.autosummary)")) {
  const head = [...(table.tHead?.rows[0]?.cells ?? [])], rows = [...(table.tBodies[0]?.rows ?? [])]
  if (table.querySelector("[colspan]")) continue
  if (rows.length > LONG) fold(table, rows.length)
  for (const row of rows)
    [...row.cells].forEach((cell, place) => { cell.dataset.column = head[place]?.textContent.trim() ?? "" })
  if (!table.querySelector("td.text-right, td.text-center")) {
    table.classList.add("texts")
    continue
  }
  const numbers = Math.max(head.findIndex(cell => cell.matches(".text-right, .text-center")), 1)
  const distinct = head.slice(0, numbers).map((_, place) => new Set(rows.map(row => row.cells[place]?.textContent)).size)
  const place = distinct.indexOf(Math.max(...distinct))
  for (const row of [table.tHead?.rows[0], ...rows]) row?.cells[place]?.classList.add("row-name")
  for (const row of rows) [...row.cells].slice(0, numbers).forEach(cell => cell.classList.add("names-row"))
  const longest = Math.max(...rows.flatMap(row => [...row.cells].slice(numbers).map(cell => cell.textContent.trim().length)))
  const count = head.length - numbers
  table.classList.toggle("brief", longest < 9 && count > 2 && count !== 4) // three columns would leave one alone
  const box = table.parentElement
  let width = -1
  new ResizeObserver(() => { // also when the table is unfolded
    if (box.clientWidth === width) return
    width = box.clientWidth
    table.classList.remove("numbers")
    table.classList.toggle("numbers", phone.matches && table.scrollWidth > width + 1)
  }).observe(box)
}
