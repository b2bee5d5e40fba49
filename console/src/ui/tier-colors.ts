// Okabe and Ito's colors for color vision deficiencies, without vermilion: red means loss. The style sheet has one
// class for each, with values for dark and light.
const colorCount = 7

// The names that most clusters use get the colors that people expect, on each screen.
const usual = ['hot', '_default_tier', 'cold']

/** Returns the number of the color of each tier. Other tiers than the usual ones keep theirs as long as no tier before them takes it. */
export function tierColors(tiers: Iterable<string>): ReadonlyMap<string, number> {
  const colors = new Map<string, number>()
  const taken = new Set(usual.keys())
  for (const tier of [...new Set(tiers)].sort()) {
    const place = usual.indexOf(tier)
    let color = place < 0 ? hashOf(tier) % colorCount : place
    for (let tries = 0; place < 0 && taken.has(color) && tries < colorCount; tries += 1)
      color = (color + 1) % colorCount
    taken.add(color)
    colors.set(tier, color)
  }
  return colors
}

function hashOf(text: string): number {
  let hash = 7
  for (let index = 0; index < text.length; index += 1) hash = (hash * 31 + text.charCodeAt(index)) >>> 0
  return hash
}
