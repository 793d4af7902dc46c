// The map of a whole vocabulary. `word_map.py` describes the bytes that arrive.
// WebGL draws the points. A second canvas has ticks, rings and the lasso, and labels are texts of the page.
// Hovering, searching and selecting need no server. A click on a word and "Add to the list" tell it.

// The colours of densray.figures, on a light and on a dark ground.
const POINT = ["#0072B2", "#5BB6EE"]
const SHADES = [["#D55E00", "#FF9A57"], ["#A3A3A3", "#7A7A7A"], ["#0072B2", "#5BB6EE"]]

const REACH = 12            // pixels from a point at which the mouse still finds it
const MOST_LISTED = 200     // selected words in the list; the file has all
const MOST_ADDED = 50       // words that can join a word list at once
const MOST_TRIED = 600      // words that a label is tried for
const FREQUENT = 3000       // of the most frequent words in view, the outermost are labelled too
const SLOW = 60             // milliseconds of a picture beyond which fewer points are drawn while the map moves
const MOVING = 40000        // points that are drawn then: the most frequent words
const LINE = 13             // pixels of a line of labels
const CELL = 24             // pixels of a side of the squares in which points are counted
const CROWDED = 0.09        // points per square pixel beyond which a label would hide points and be hard to read
const COUNTED = 20000       // words that are counted: the most frequent
const CORE = 0.72           // share of ink where most points lie: the middle of a crowd still has lighter edges
const TICK_SPACE = [40, 18] // pixels at the left and at the bottom that belong to the ticks

const VERTEX = `#version 300 es
in vec2 at; in float shade;
uniform vec4 view, crowd; uniform vec2 range, opacity; uniform vec3 low, middle, high; uniform float size;
out vec3 color; out float alpha;
void main() {
  gl_Position = vec4((at - view.xy) * view.zw - 1.0, 0.0, 1.0);
  gl_PointSize = size;
  vec2 far = (at - crowd.xy) / crowd.zw;
  alpha = min(opacity.x * exp(0.35 * dot(far, far)), opacity.y);  // rises more slowly than the crowd thins out
  float place = clamp((shade - range.x) / (range.y - range.x), 0.0, 1.0);
  color = place < 0.5 ? mix(low, middle, 2.0 * place) : mix(middle, high, 2.0 * place - 1.0);
}`
const FRAGMENT = `#version 300 es
precision mediump float;
in vec3 color; in float alpha; uniform bool circular; out vec4 shown;
void main() {
  vec2 off = gl_PointCoord - 0.5;
  if (circular && dot(off, off) > 0.25) discard;
  shown = vec4(color * alpha, alpha);
}`

// Texts come in later, as text: nothing of a space is ever read as HTML.
const PAGE = `
<div class="tools">
  <form role="search"><input name="word" aria-label="Find a word on the map" placeholder="Find a word on the map"
    autocomplete="off" spellcheck="false"><button>Find</button></form>
  <button type="button" class="draw" aria-pressed="false">Lasso</button>
  <button type="button" class="in-view">Select what is in view</button>
  <button type="button" class="closer" aria-label="Zoom in">+</button>
  <button type="button" class="further" aria-label="Zoom out">−</button>
  <button type="button" class="whole">Whole map</button>
</div>
<div class="legend" hidden><span class="name"></span><span class="low"></span><span class="bar"></span><span
  class="high"></span></div>
<div class="frame">
  <div class="ends up"><span class="low"></span><span class="name"></span><span class="high"></span></div>
  <div class="plot" tabindex="0" role="application">
    <canvas class="points"></canvas><canvas class="marks"></canvas><div class="labels" aria-hidden="true"></div>
    <div class="tip" hidden></div>
  </div>
  <div class="ends across"><span class="low"></span><span class="name"></span><span class="high"></span></div>
</div>
<p class="said" role="status"></p>
<div class="selection" hidden>
  <div class="list" tabindex="0" role="region" aria-label="Selected words"><table><thead><tr></tr></thead>
    <tbody></tbody></table></div>
  <div class="actions">
    <button type="button" class="file"></button>
    <button type="button" class="add" data-end="high">Add to the high list</button>
    <button type="button" class="add" data-end="low">Add to the low list</button>
    <button type="button" class="clear">Clear the selection</button>
  </div>
  <p class="limit" hidden></p>
</div>`

const maps = new WeakMap()

export default function ({ data, parentElement, setTriggerValue }) {
  let map = maps.get(parentElement)
  if (!map) {
    map = WordMap.on(parentElement)
    if (!map) {
      setTriggerValue("unsupported", true)
      return () => {}
    }
    maps.set(parentElement, map)
  }
  map.send = setTriggerValue
  map.receive(data)
  return () => {
    maps.delete(parentElement)
    map.close()
  }
}

class WordMap {
  // Returns a map inside an element; null where the browser has no WebGL.
  static on(parent) {
    const root = document.createElement("div")
    root.className = "word-map"
    root.innerHTML = PAGE
    const look = { antialias: false, alpha: true, premultipliedAlpha: true }
    const gl = root.querySelector(".points").getContext("webgl2", look)
    if (!gl) return null
    parent.appendChild(root)
    return new WordMap(root, gl)
  }

  constructor(root, gl) {
    Object.assign(this, { root, gl, data: null, selected: new Uint32Array(0), found: -1, hovered: -1, tip: -1 })
    this.plot = this.one(".plot")
    this.pen = this.one(".marks").getContext("2d")
    this.widths = new Map()
    this.pointers = new Map()
    this.lasso = null
    this.frame = 0
    this.leaving = new AbortController()
    this.listen()
    this.prepare()
    this.watcher = new ResizeObserver(() => this.resize())
    this.watcher.observe(this.plot)
  }

  one(selector) { return this.root.querySelector(selector) }

  close() {
    this.leaving.abort()
    this.watcher.disconnect()
    cancelAnimationFrame(this.frame)
    clearTimeout(this.resting)
    this.gl.getExtension("WEBGL_lose_context")?.loseContext()
    this.root.remove()
  }

  // ---- data ----

  receive(data) {
    if (data === this.data) { this.theme(); this.schedule(); return }  // another theme, or a page that ran again
    this.began = performance.now()
    const bytes = data.slice()  // numbers need an address that is a multiple of four
    const length = new DataView(bytes.buffer).getUint32(4, true)
    const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)))
    const { count, axes } = header
    let place = 8 + length
    const take = kind => { const part = new kind(bytes.buffer, place, count); place += 4 * count; return part }
    const scores = axes.map(() => take(Float32Array)), ranks = axes.map(() => take(Uint32Array))
    const text = new TextDecoder().decode(bytes.subarray(place))
    const sameWords = text === this.text
    Object.assign(this, { data, header, count, axes, scores, ranks })
    if (!sameWords) {
      Object.assign(this, { text, words: text.split("\n"), selected: new Uint32Array(0), found: -1 })
      this.widths.clear()
    }
    const whole = { x: padded(scores[0], 0.06), y: padded(scores[1], 0.06) }
    const isSameMap = sameWords && JSON.stringify(whole) === JSON.stringify(this.whole)
    this.whole = whole
    if (!isSameMap) { this.view = copy(whole); this.found = -1 }
    this.hovered = -1
    this.columns = axes.map((_, place) => place).filter(place =>
      axes.findIndex(axis => axis.name === axes[place].name) === place)
    this.middle = scores.slice(0, 2).map(spread)
    this.upload()
    this.theme()
    this.write()
    this.list()
    this.isNew = true
    this.resize()
  }

  // Writes the texts around the plot.
  write() {
    const named = this.axes.map(axis => axis.name)
    for (const [place, axis] of [[".across", this.axes[0]], [".up", this.axes[1]]]) {
      this.one(`${place} .low`).textContent = `← ${axis.low}`
      this.one(`${place} .name`).textContent = axis.name
      this.one(`${place} .high`).textContent = `${axis.high} →`
    }
    const color = this.axes[2]
    this.one(".legend").hidden = !color
    if (color) {
      this.one(".legend .name").textContent = named[2]
      this.one(".legend .low").textContent = `← ${color.low}`
      this.one(".legend .high").textContent = `${color.high} →`
    }
    const coloured = color ? `, coloured by ${named[2]}` : ""
    this.plot.setAttribute("aria-label", `${number(this.count)} words by ${named[0]} (across) and ${named[1]} (up)`
      + `${coloured}. Arrow keys move the map, plus and minus zoom, Home shows all.`)
    for (const button of this.root.querySelectorAll(".add")) button.hidden = !this.header.can_add
  }

  // ---- points ----

  prepare() {
    const gl = this.gl, program = gl.createProgram()
    for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind)
      gl.shaderSource(shader, source)
      gl.compileShader(shader)
      gl.attachShader(program, shader)
    }
    gl.bindAttribLocation(program, 0, "at")
    gl.bindAttribLocation(program, 1, "shade")
    gl.linkProgram(program)
    gl.useProgram(program)
    this.uniforms = {}
    for (const name of ["view", "crowd", "range", "low", "middle", "high", "size", "opacity", "circular"])
      this.uniforms[name] = gl.getUniformLocation(program, name)
    this.buffers = [gl.createBuffer(), gl.createBuffer(), gl.createBuffer()]
    gl.enable(gl.BLEND)
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA)
  }

  upload() {
    const gl = this.gl, [places, shades] = this.buffers
    const at = new Float32Array(2 * this.count), [x, y, shade] = this.scores
    for (let row = 0; row < this.count; row++) { at[2 * row] = x[row]; at[2 * row + 1] = y[row] }
    gl.bindBuffer(gl.ARRAY_BUFFER, places)
    gl.bufferData(gl.ARRAY_BUFFER, at, gl.STATIC_DRAW)
    gl.enableVertexAttribArray(0)
    gl.vertexAttribPointer(0, 2, gl.FLOAT, false, 0, 0)
    if (shade) {
      gl.bindBuffer(gl.ARRAY_BUFFER, shades)
      gl.bufferData(gl.ARRAY_BUFFER, shade, gl.STATIC_DRAW)
      gl.enableVertexAttribArray(1)
      gl.vertexAttribPointer(1, 1, gl.FLOAT, false, 0, 0)
    } else {
      gl.disableVertexAttribArray(1)
      gl.vertexAttrib1f(1, 0)
    }
    this.uploadSelection()
  }

  uploadSelection() {
    const gl = this.gl
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.buffers[2])
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, this.selected, gl.DYNAMIC_DRAW)
  }

  theme() {
    const style = getComputedStyle(this.root), ground = style.getPropertyValue("--st-background-color").trim()
    this.ink = style.getPropertyValue("--st-text-color").trim() || "#333333"
    this.font = style.fontFamily
    this.isDark = luminance(ground) < 0.35
    const pick = pair => pair[Number(this.isDark)]
    const seam = [[1, 0], [-1, 0], [0, 1], [0, -1]].map(([x, y]) => `${x}px ${y}px 2px ${ground}`)
    this.root.style.setProperty("--word-map-seam", seam.join(", "))
    this.root.style.setProperty("--word-map-line", this.isDark ? "#5A5854" : "#C8C8C8")
    this.shades = (this.axes?.[2] ? SHADES.map(pick) : Array(3).fill(pick(POINT))).map(rgb)
    this.chosen = rgb(this.ink)
    this.one(".bar").style.background = `linear-gradient(90deg, ${SHADES.map(pick).join(", ")})`
  }

  resize() {
    const box = this.plot.getBoundingClientRect(), scale = Math.min(devicePixelRatio || 1, 2)
    if (!this.data || box.width < 2) return
    Object.assign(this, { width: this.plot.clientWidth, height: this.plot.clientHeight, scale })
    for (const canvas of this.plot.querySelectorAll("canvas")) {
      const [width, height] = [this.width, this.height].map(side => Math.round(side * scale))
      if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height })
    }
    this.schedule()
  }

  // Draws with the next frame: all of it, or rings and the lasso alone, which are quick.
  schedule(isWhole = true) {
    this.isStale = this.isStale || isWhole
    if (!this.frame) this.frame = requestAnimationFrame(() => { this.frame = 0; this.draw() })
  }

  draw() {
    if (!this.width || this.gl.isContextLost()) return
    if (!this.isStale) { this.drawMarks(); return }
    this.isStale = false
    const began = performance.now()
    this.drawPoints()
    const drawn = this.isNew ? this.gl.fenceSync(this.gl.SYNC_GPU_COMMANDS_COMPLETE, 0) : null
    this.drawMarks()
    this.drawLabels()
    this.isNew = false
    if (drawn) this.note(drawn, began)
  }

  // Notes the time until the first picture of new data is there: it tells whether drawing is slow here.
  note(drawn, began) {
    const gl = this.gl
    if (gl.isContextLost()) return
    gl.flush()
    if (gl.clientWaitSync(drawn, 0, 0) === gl.TIMEOUT_EXPIRED) { setTimeout(() => this.note(drawn, began), 4); return }
    gl.deleteSync(drawn)
    this.isSlow = performance.now() - began > SLOW
    this.root.dataset.points = this.count
    this.root.dataset.milliseconds = Math.round(performance.now() - this.began)
  }

  drawPoints() {
    const gl = this.gl, set = this.uniforms, { x, y } = this.view
    const closer = Math.sqrt((this.whole.x[1] - this.whole.x[0]) / (x[1] - x[0]))
    const usual = (this.count > 50000 ? 1.5 : this.count > 5000 ? 2.5 : 5) * (this.width < 500 ? 0.75 : 1)
    const size = Math.min(Math.max(usual * Math.sqrt(closer), 1.5), 8)
    gl.viewport(0, 0, gl.canvas.width, gl.canvas.height)
    gl.clearColor(0, 0, 0, 0)
    gl.clear(gl.COLOR_BUFFER_BIT)
    gl.uniform4f(set.view, x[0], y[0], 2 / (x[1] - x[0]), 2 / (y[1] - y[0]))
    const [low, high] = this.header.colors || [0, 1]
    gl.uniform2f(set.range, low, high > low ? high : low + 1)
    this.shades.forEach((color, place) => gl.uniform3fv(set[["low", "middle", "high"][place]], color))
    gl.uniform1f(set.size, size * this.scale)
    gl.uniform1i(set.circular, size * this.scale > 3 ? 1 : 0)
    const faint = this.selected.length ? 0.4 : 1, [[mx, sx], [my, sy]] = this.middle
    gl.uniform4f(set.crowd, mx, my, sx, sy)
    const outer = Math.min(0.85, (this.count > 50000 ? 0.3 : 0.45) * (this.axes[2] ? 1.5 : 1) * closer)
    // points that lie over each other in the middle of a crowd, if both scores are normally distributed
    const area = 2 * Math.PI * sx * sy * this.width * this.height / ((x[1] - x[0]) * (y[1] - y[0]))
    const inner = Math.min(outer, Math.max(0.04, 1 - (1 - CORE) ** (area / (this.count * size ** 2))))
    gl.uniform2f(set.opacity, faint * inner, faint * outer)
    const isBrief = this.isSlow && this.isMoving
    gl.drawArrays(gl.POINTS, 0, isBrief ? Math.min(this.count, MOVING) : this.count)
    if (this.selected.length && !isBrief) {
      for (const name of ["low", "middle", "high"]) gl.uniform3fv(set[name], this.chosen)
      gl.uniform1f(set.size, (size + 1) * this.scale)
      gl.uniform2f(set.opacity, 0.8, 0.8)
      gl.drawElements(gl.POINTS, this.selected.length, gl.UNSIGNED_INT, 0)
    }
  }

  // ---- ticks, rings and the lasso ----

  drawMarks() {
    const pen = this.pen
    pen.setTransform(this.scale, 0, 0, this.scale, 0, 0)
    pen.clearRect(0, 0, this.width, this.height)
    this.drawTicks()
    pen.strokeStyle = this.ink
    pen.lineWidth = 2
    for (const row of new Set([...this.header.marked, this.found, this.hovered])) {
      if (row < 0) continue
      const [px, py] = this.at(row)
      pen.beginPath()
      pen.arc(px, py, 5.5, 0, 7)
      pen.stroke()
    }
    if (this.lasso?.length > 1) {
      pen.strokeStyle = this.ink
      pen.setLineDash([5, 4])
      pen.lineWidth = 1.5
      pen.beginPath()
      this.lasso.forEach(([px, py], place) => place ? pen.lineTo(px, py) : pen.moveTo(px, py))
      pen.closePath()
      pen.stroke()
      pen.setLineDash([])
    }
  }

  drawTicks() {
    const pen = this.pen, { x, y } = this.view
    pen.font = `11px ${this.font}`
    pen.lineWidth = 1
    const line = (text, px, py) => {
      pen.globalAlpha = 0.12
      pen.strokeStyle = this.ink
      pen.beginPath()
      if (px === null) { pen.moveTo(0, py); pen.lineTo(this.width, py) } else { pen.moveTo(px, 0); pen.lineTo(px, this.height) }
      pen.stroke()
      pen.globalAlpha = 0.85
      pen.fillStyle = this.ink
      pen.textAlign = px === null ? "left" : "center"
      pen.fillText(text, px === null ? 3 : px, px === null ? py - 3 : this.height - 4)
    }
    for (const [value, text] of ticks(x, Math.max(5, this.width / 110))) {
      const px = this.across(value)
      if (px > TICK_SPACE[0] + 15 && px < this.width - 15) line(text, px, null)
    }
    for (const [value, text] of ticks(y, this.height / 80)) {
      const py = this.down(value)
      if (py > 15 && py < this.height - TICK_SPACE[1]) line(text, null, py)
    }
    pen.globalAlpha = 1
  }

  across(value) { return (value - this.view.x[0]) / (this.view.x[1] - this.view.x[0]) * this.width }
  down(value) { return (this.view.y[1] - value) / (this.view.y[1] - this.view.y[0]) * this.height }
  at(row) { return [this.across(this.scores[0][row]), this.down(this.scores[1][row])] }

  // ---- labels ----

  drawLabels() {
    const most = Math.min(140, Math.round(this.width * this.height / 4500))
    const taken = [], shown = [], special = new Set([...this.header.marked, this.found].filter(row => row >= 0))
    const isCrowded = this.crowds()
    this.pen.font = `11px ${this.font}`
    for (const row of [...special, ...this.candidates(special)]) {
      if (shown.length >= most + special.size) break
      const [px, py] = this.at(row)
      if (px < 0 || px > this.width || py < 0 || py > this.height) continue
      const wide = this.textWidth(row) * (special.has(row) ? 1.12 : 1) + 2
      const away = special.has(row) ? 10 : 6
      const places = [[px + away, py - LINE / 2], [px - away - wide, py - LINE / 2],
        [px - wide / 2, py - LINE - away], [px - wide / 2, py + away]]
      const free = places.find(([left, top]) => left >= TICK_SPACE[0] && top >= 1 && left + wide <= this.width - 2
        && top + LINE <= this.height - TICK_SPACE[1]
        && (special.has(row) || !isCrowded(left, top) && !isCrowded(left + wide / 2, top + LINE / 2)
          && !isCrowded(left + wide, top + LINE))
        && taken.every(box => left >= box[2] + 3 || left + wide + 3 <= box[0] || top >= box[3] + 1 || top + LINE + 1 <= box[1]))
      if (!free) continue
      taken.push([free[0], free[1], free[0] + wide, free[1] + LINE])
      shown.push([row, free])
    }
    const holder = this.one(".labels")
    while (holder.childElementCount > shown.length) holder.lastChild.remove()
    while (holder.childElementCount < shown.length) holder.appendChild(document.createElement("span"))
    shown.forEach(([row, [left, top]], place) => {
      const label = holder.children[place]
      if (label.textContent !== this.words[row]) label.textContent = this.words[row]
      label.className = special.has(row) ? "marked" : ""
      label.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`
    })
  }

  // Returns a function that tells whether too many points lie around a place for a label.
  crowds() {
    const columns = Math.ceil(this.width / CELL) + 1, counts = new Uint32Array(columns * (Math.ceil(this.height / CELL) + 1))
    const most = Math.min(this.count, COUNTED)
    for (let row = 0; row < most; row++) {
      const [px, py] = this.at(row)
      if (px >= 0 && px <= this.width && py >= 0 && py <= this.height)
        counts[Math.floor(py / CELL) * columns + Math.floor(px / CELL)]++
    }
    const limit = CROWDED * CELL ** 2 * most / this.count
    return (px, py) => counts[Math.floor(py / CELL) * columns + Math.floor(px / CELL)] > limit
  }

  // Returns words in view that should be labelled: selected ones, then the outermost and the most frequent in turn.
  candidates(without) {
    const [x, y] = this.scores, { x: [left, right], y: [low, high] } = this.view, seen = [], chosen = []
    const isSeen = row => x[row] > left && x[row] < right && y[row] > low && y[row] < high && !without.has(row)
    for (const row of this.selected) {
      if (chosen.length >= MOST_TRIED / 4) break
      if (isSeen(row)) chosen.push(row)
    }
    for (let row = 0; row < this.count && seen.length < FREQUENT; row++) if (isSeen(row)) seen.push(row)
    const [[mx, sx], [my, sy]] = this.middle
    const distance = new Map(seen.map(row => [row, Math.hypot((x[row] - mx) / sx, (y[row] - my) / sy)]))
    const outer = [...seen].sort((one, other) => distance.get(other) - distance.get(one))
    const rows = new Set(chosen)
    for (let place = 0; place < seen.length && rows.size < MOST_TRIED; place++) rows.add(outer[place]).add(seen[place])
    return rows
  }

  textWidth(row) {
    if (this.widths.size > 20000) this.widths.clear()
    let wide = this.widths.get(row)
    if (wide === undefined) this.widths.set(row, wide = this.pen.measureText(this.words[row]).width)
    return wide
  }

  // ---- moving ----

  zoom(factor, px = this.width / 2, py = this.height / 2) {
    const { x, y } = this.view, u = px / this.width, v = 1 - py / this.height
    const closest = (this.whole.x[1] - this.whole.x[0]) / 2000
    const wide = Math.min(Math.max((x[1] - x[0]) * factor, closest), (this.whole.x[1] - this.whole.x[0]) * 2)
    const high = (y[1] - y[0]) * wide / (x[1] - x[0])
    const [left, low] = [x[0] + u * (x[1] - x[0] - wide), y[0] + v * (y[1] - y[0] - high)]
    this.view = { x: [left, left + wide], y: [low, low + high] }
    this.point(-1)
    this.scheduleMove()
  }

  // Draws a map that moves, and all of its points once it rests.
  scheduleMove() {
    this.isMoving = true
    clearTimeout(this.resting)
    this.resting = setTimeout(() => { this.isMoving = false; if (this.isSlow) this.schedule() }, 200)
    this.schedule()
  }

  move(px, py) {
    const right = px / this.width * (this.view.x[1] - this.view.x[0])
    const up = -py / this.height * (this.view.y[1] - this.view.y[0])
    this.view = { x: this.view.x.map(end => end - right), y: this.view.y.map(end => end - up) }
    this.scheduleMove()
  }

  listen() {
    const signal = this.leaving.signal
    const on = (target, name, act, more = {}) => target.addEventListener(name, act, { signal, ...more })
    const click = (selector, act) => on(this.one(selector), "click", act)
    on(this.one("form"), "submit", event => { event.preventDefault(); this.find(this.one("input").value) })
    click(".draw", () => this.toggleLasso())
    click(".in-view", () => this.selectInView())
    click(".closer", () => this.zoom(0.5))
    click(".further", () => this.zoom(2))
    click(".whole", () => this.showWhole())
    click(".clear", () => this.choose(new Uint32Array(0)))
    click(".file", () => this.save())
    for (const button of this.root.querySelectorAll(".add"))
      on(button, "click", () => this.send("added", { end: button.dataset.end, locations: [...this.selected] }))
    const keys = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }
    on(this.plot, "keydown", event => {
      if (keys[event.key]) this.move(...keys[event.key])
      else if (event.key === "+" || event.key === "=") this.zoom(0.7)
      else if (event.key === "-") this.zoom(1 / 0.7)
      else if (event.key === "Home") this.showWhole()
      else return
      event.preventDefault()
    })
    on(this.plot, "wheel", event => {  // the wheel alone scrolls the page; two fingers on a touchpad send Ctrl too
      if (!event.ctrlKey && !event.metaKey) return
      event.preventDefault()
      this.zoom(Math.exp(Math.max(-100, Math.min(100, event.deltaY)) / 200), ...this.position(event))
    }, { passive: false })
    on(this.plot, "dblclick", () => this.showWhole())
    on(this.plot, "pointerdown", event => this.press(event))
    on(this.plot, "pointermove", event => this.drag(event))
    on(this.plot, "pointerup", event => this.release(event))
    on(this.plot, "pointercancel", event => { this.pointers.delete(event.pointerId); this.lasso = null; this.schedule(false) })
    on(this.plot, "pointerleave", () => this.point(-1))
    const canvas = this.one(".points")
    on(canvas, "webglcontextlost", event => event.preventDefault())
    on(canvas, "webglcontextrestored", () => { this.prepare(); this.upload(); this.schedule() })
  }

  position(event) {
    const box = this.plot.getBoundingClientRect()
    return [event.clientX - box.left - this.plot.clientLeft, event.clientY - box.top - this.plot.clientTop]
  }

  get isDrawing() { return this.one(".draw").getAttribute("aria-pressed") === "true" }

  toggleLasso() {
    this.one(".draw").setAttribute("aria-pressed", String(!this.isDrawing))
    this.plot.classList.toggle("lasso", this.isDrawing)
    this.say(this.isDrawing ? "Drag around words to select them." : "")
  }

  showWhole() {
    this.view = copy(this.whole)
    this.schedule()
  }

  press(event) {
    if (event.button) return
    const place = this.position(event)
    this.plot.setPointerCapture(event.pointerId)
    this.pointers.set(event.pointerId, { place, began: place })
    this.lasso = this.isDrawing && this.pointers.size === 1 ? [place] : null
    this.point(-1)
  }

  drag(event) {
    const place = this.position(event), held = this.pointers.get(event.pointerId)
    if (!held) { this.hover(place); return }
    if (this.lasso) {
      this.lasso.push(place)
      this.schedule(false)
    } else if (this.pointers.size === 2) {
      const other = [...this.pointers.values()].find(each => each !== held).place
      const distance = from => Math.max(Math.hypot(from[0] - other[0], from[1] - other[1]), 1)
      this.zoom(distance(held.place) / distance(place), (place[0] + other[0]) / 2, (place[1] + other[1]) / 2)
    } else {
      this.plot.classList.add("moving")
      this.move(place[0] - held.place[0], place[1] - held.place[1])
    }
    held.place = place
  }

  release(event) {
    const held = this.pointers.get(event.pointerId)
    this.pointers.delete(event.pointerId)
    this.plot.classList.remove("moving")
    if (!held) return
    const outline = this.lasso, place = this.position(event)
    this.lasso = null
    const stayed = Math.hypot(place[0] - held.began[0], place[1] - held.began[1]) < 4
    if (outline?.length > 3 && !(stayed && outline.length < 8)) this.selectInside(outline)
    else if (stayed && event.type === "pointerup") {
      const row = this.nearest(...place)
      if (row >= 0) this.send("picked", row)
    }
    this.schedule(false)
  }

  // ---- one word ----

  hover(place) {
    this.awaited = place
    if (this.hovering) return
    this.hovering = requestAnimationFrame(() => {
      this.hovering = 0
      if (this.data && !this.pointers.size) this.point(this.nearest(...this.awaited))
    })
  }

  nearest(px, py) {
    const [x, y] = this.scores, view = this.view
    const kx = this.width / (view.x[1] - view.x[0]), ky = this.height / (view.y[1] - view.y[0])
    const mx = view.x[0] + px / kx, my = view.y[1] - py / ky
    let least = REACH * REACH, nearest = -1
    for (let row = 0; row < this.count; row++) {
      const u = (x[row] - mx) * kx, v = (y[row] - my) * ky, distance = u * u + v * v
      if (distance < least) { least = distance; nearest = row }
    }
    return nearest
  }

  // Shows the scores of a word next to it; -1 shows none.
  point(row) {
    if (row === this.hovered) return
    this.hovered = row
    const tip = this.one(".tip")
    tip.hidden = row < 0
    if (row >= 0) {
      const title = document.createElement("strong")
      title.textContent = this.words[row]
      tip.replaceChildren(title, ...this.describe(row).map(line => {
        const part = document.createElement("div")
        part.textContent = line
        return part
      }))
      const [px, py] = this.at(row)
      const left = px + 14 + tip.offsetWidth > this.width ? px - 14 - tip.offsetWidth : px + 14
      const top = Math.min(Math.max(py - tip.offsetHeight / 2, 2), this.height - tip.offsetHeight - 2)
      tip.style.left = `${Math.max(left, 2)}px`
      tip.style.top = `${top}px`
    }
    this.schedule(false)
  }

  describe(row) {
    return this.columns.map(place =>
      `“${this.axes[place].name}”: ${decimal(this.scores[place][row])}, rank ${number(this.ranks[place][row])}`)
  }

  find(asked) {
    const wanted = asked.trim(), low = wanted.toLowerCase()
    if (!wanted) { this.found = -1; this.say(""); this.schedule(); return }
    let row = this.words.indexOf(wanted), first = -1
    for (let place = 0; row < 0 && place < this.count; place++) {
      const word = this.words[place]
      if (word.length < low.length) continue
      const lower = word.toLowerCase()
      if (lower === low) row = place
      else if (first < 0 && lower.startsWith(low)) first = place
    }
    const isExact = row >= 0
    row = isExact ? row : first
    this.found = row
    if (row < 0) { this.say(`“${wanted}” is not on the map.`); this.schedule(); return }
    const [wide, high] = [this.whole.x, this.whole.y].map(ends => (ends[1] - ends[0]) / 8)
    const [x, y] = this.scores.map(each => each[row])
    this.view = { x: [x - wide / 2, x + wide / 2], y: [y - high / 2, y + high / 2] }
    const instead = isExact ? "" : `“${wanted}” is not on the map; this word begins with it. `
    this.say(`${instead}${this.words[row]}: ${this.describe(row).join("; ")}.`)
    this.schedule()
  }

  say(text) { this.one(".said").textContent = text }

  // ---- selection ----

  selectInView() {
    const { x: [left, right], y: [low, high] } = this.view
    this.chooseWhere((x, y) => x >= left && x <= right && y >= low && y <= high)
  }

  selectInside(outline) {
    const { x, y } = this.view
    const across = Float64Array.from(outline, ([px]) => x[0] + px / this.width * (x[1] - x[0]))
    const up = Float64Array.from(outline, ([, py]) => y[1] - py / this.height * (y[1] - y[0]))
    this.chooseWhere(insideOf(across, up))
  }

  chooseWhere(isChosen) {
    const began = performance.now(), [x, y] = this.scores, rows = new Uint32Array(this.count)
    let count = 0
    for (let row = 0; row < this.count; row++) if (isChosen(x[row], y[row])) rows[count++] = row
    this.choose(rows.slice(0, count))
    this.root.dataset.selectMilliseconds = Math.round(performance.now() - began)
  }

  choose(rows) {
    this.selected = rows
    this.uploadSelection()
    this.list()
    const part = rows.length > MOST_LISTED
      ? ` The list has the ${MOST_LISTED} highest on “${this.axes[0].name}”, the file has all.` : ""
    this.say(rows.length ? `${counted(rows.length)} selected.${part}` : "No word is selected.")
    if (this.isSlow) this.scheduleMove()  // the list first
    else this.schedule()
  }

  // Writes the selection as a table, the highest score on the horizontal axis first.
  list() {
    const rows = this.selected, [x] = this.scores, count = rows.length
    this.root.dataset.selected = count
    this.one(".selection").hidden = !count
    if (!count) { this.one("tbody").replaceChildren(); return }
    let listed = rows
    if (count > MOST_LISTED) {
      const ordered = new Float32Array(count)
      for (let place = 0; place < count; place++) ordered[place] = x[rows[place]]
      const least = ordered.sort()[count - MOST_LISTED]
      listed = rows.filter(row => x[row] >= least)
    }
    listed = [...listed].sort((one, other) => x[other] - x[one] || one - other).slice(0, MOST_LISTED)
    this.one(".file").textContent = `Download ${counted(count)} .csv`
    const heads = ["word", ...this.columns.map(place => this.axes[place].name)]
    this.one("thead tr").replaceChildren(...heads.map(text => cell("th", text)))
    for (const head of this.root.querySelectorAll("thead th")) head.scope = "col"
    this.one("tbody").replaceChildren(...listed.map(row => {
      const line = document.createElement("tr")
      line.append(cell("td", this.words[row]), ...this.columns.map(place => cell("td", decimal(this.scores[place][row]))))
      return line
    }))
    const isMany = count > MOST_ADDED
    for (const button of this.root.querySelectorAll(".add")) button.disabled = isMany
    this.one(".limit").hidden = !isMany || !this.header.can_add
    this.one(".limit").textContent = `At most ${MOST_ADDED} words at once can join a list.`
  }

  save() {
    const quoted = text => /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
    const heads = ["word", ...this.columns.flatMap(place => [this.axes[place].name, `${this.axes[place].name} rank`])]
    const lines = [heads.map(quoted).join(",")]
    for (const row of this.selected)
      lines.push([quoted(this.words[row]), ...this.columns.flatMap(place =>
        [Number(this.scores[place][row].toPrecision(7)), this.ranks[place][row]])].join(","))
    const link = document.createElement("a")
    link.href = URL.createObjectURL(new Blob([lines.join("\n") + "\n"], { type: "text/csv" }))
    link.download = "selected-words.csv"
    link.click()
    setTimeout(() => URL.revokeObjectURL(link.href), 10000)
  }
}

function padded(values, share) {
  let low = Infinity, high = -Infinity
  for (const value of values) { if (value < low) low = value; if (value > high) high = value }
  const margin = (high - low) * share || Math.abs(low) * share || 1
  return [low - margin, high + margin]
}

// Returns a function that says whether a point lies inside a polygon: a line to its right crosses an odd number of edges.
// Edges are kept by bands of height, so that a point meets those at its own height only.
function insideOf(across, up) {
  const bands = 256, count = across.length
  const left = Math.min(...across), right = Math.max(...across), low = Math.min(...up), high = Math.max(...up)
  const band = y => Math.min(Math.max(Math.floor((y - low) / (high - low) * bands), 0), bands - 1)
  const edges = Array.from({ length: bands }, () => [])
  for (let place = 0, last = count - 1; place < count; last = place++) {
    const [from, to] = [band(Math.min(up[place], up[last])), band(Math.max(up[place], up[last]))]
    for (let each = from; each <= to; each++) edges[each].push(place, last)
  }
  return (px, py) => {
    if (!(px >= left && px <= right && py >= low && py <= high)) return false
    const near = edges[band(py)]
    let isInside = false
    for (let place = 0; place < near.length; place += 2) {
      const one = near[place], other = near[place + 1]
      if ((up[one] > py) !== (up[other] > py)
        && px < (across[other] - across[one]) * (py - up[one]) / (up[other] - up[one]) + across[one]) isInside = !isInside
    }
    return isInside
  }
}

// Returns the mean and the standard deviation.
function spread(values) {
  let sum = 0, squares = 0
  for (const value of values) sum += value
  const mean = sum / values.length
  for (const value of values) squares += (value - mean) ** 2
  return [mean, Math.sqrt(squares / values.length) || 1]
}

function copy(view) { return { x: [...view.x], y: [...view.y] } }

function cell(kind, text) {
  const made = document.createElement(kind)
  made.textContent = text
  return made
}

function number(count) { return count.toLocaleString("en-US") }
function counted(count) { return count === 1 ? "1 word" : `${number(count)} words` }
function decimal(value) { return value.toFixed(3).replace("-", Math.abs(value) < 0.0005 ? "" : "−") }

// Returns round values between two ends, about `most` of them, with their texts.
function ticks([low, high], most) {
  const rough = (high - low) / Math.max(most, 1), power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 5, 10].find(each => each * power >= rough) * power
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9)), found = []
  for (let place = Math.ceil(low / step); place * step <= high; place++)
    found.push([place * step, (place * step).toFixed(decimals).replace("-", "−")])
  return found
}

function rgb(color) {
  const pen = document.createElement("canvas").getContext("2d")
  pen.fillStyle = color
  pen.fillRect(0, 0, 1, 1)
  return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3).map(part => part / 255)
}

function luminance(color) {
  const [red, green, blue] = rgb(color || "#FFFFFF")
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
