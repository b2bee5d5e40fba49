// Okabe and Ito's colors for color vision deficiencies, without vermilion: red means loss. The style sheet has one
// class for each, with values for dark and light.
const colorCount = 7

/** Returns the number of the color of each tier. A tier keeps its color as long as no tier before it takes it. */
export function tierColors(tiers: Iterable<string>): ReadonlyMap<string, number> {
  const colors = new Map<string, number>()
  const taken = new Set<number>()
  for (const tier of [...new Set(tiers)].sort()) {
    let color = preferred[tier] ?? hashOf(tier) % colorCount
    for (let tries = 0; taken.has(color) && tries < colorCount; tries += 1) color = (color + 1) % colorCount
    taken.add(color)
    colors.set(tier, color)
  }
  return colors
}

// The names that most clusters use get the colors that people expect.
const preferred: Readonly<Record<string, number>> = { hot: 0, _default_tier: 1, cold: 2 }

function hashOf(text: string): number {
  let hash = 7
  for (let index = 0; index < text.length; index += 1) hash = (hash * 31 + text.charCodeAt(index)) >>> 0
  return hash
}
