const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** A text for HTML and SVG. Names of datasources and tiers may contain almost anything. */
export function escapedText(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character]!)
}
