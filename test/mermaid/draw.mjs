// Reads a JSON list of drawings in Mermaid from standard input and writes what Mermaid
// makes of each: {error}, or {nodes: {id: {label, shape, classes}}, edges: [{from, to,
// label, dotted}]}. Labels are those of the picture, as a reader sees them.
import { readFileSync } from 'node:fs'
import { JSDOM } from 'jsdom'

// Mermaid wants a browser. This one has no layout, so every box has the same size.
const { window } = new JSDOM('<body></body>', { pretendToBeVisual: true })
Object.assign(globalThis, { window, document: window.document, Element: window.Element })
globalThis.CSSStyleSheet = class { insertRule() {} replaceSync() {} get cssRules() { return [] } }
globalThis.btoa = (s) => Buffer.from(s).toString('base64')
window.SVGElement.prototype.getBBox = () => ({ x: 0, y: 0, width: 100, height: 20 })
window.SVGElement.prototype.getComputedTextLength = () => 100

const { default: mermaid } = await import('mermaid')
mermaid.initialize({ startOnLoad: false, maxEdges: 5000, logLevel: 'fatal' })

const shown = (element) => {
  if (!element) return ''
  for (const br of element.querySelectorAll('br')) br.replaceWith('\n')
  return element.textContent
}

async function drawn(text, number) {
  await mermaid.parse(text)
  const { db } = await mermaid.mermaidAPI.getDiagramFromText(text)
  const { svg } = await mermaid.render(`drawing${number}`, text)
  const picture = new JSDOM(svg).window.document
  const nodes = {}
  for (const [id, v] of db.getVertices()) {
    const node = [...picture.querySelectorAll('g.node')].find((n) => n.id.includes(`flowchart-${id}-`))
    nodes[id] = { label: shown(node?.querySelector('.nodeLabel')), shape: v.type, classes: node?.getAttribute('class').split(/\s+/) ?? [] }
  }
  const edges = db.getEdges().map((e) => ({
    from: e.start,
    to: e.end,
    label: shown(picture.querySelector(`g.label[data-id="${e.id}"]`)),
    dotted: e.stroke === 'dotted',
  }))
  return { nodes, edges }
}

const answers = []
for (const [number, text] of JSON.parse(readFileSync(0, 'utf8')).entries()) {
  try {
    answers.push(await drawn(text, number))
  } catch (error) {
    answers.push({ error: String(error?.message ?? error) })
  }
}
process.stdout.write(JSON.stringify(answers), () => process.exit(0))
