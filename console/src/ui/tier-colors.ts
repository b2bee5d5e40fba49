// Okabe and Ito's colors for color vision deficiencies, without vermilion: red means loss. The style sheet has one
// class for each, with values for dark and light.
const colorCount = 7

// The names that most clusters use get the colors that people expect, on each screen.
const usual = ['hot', '_default_tier', 'cold']

/**
 * Returns the number of the color of each tier. The usual tiers always have the same color. Another tier keeps its color unless
 * a tier that sorts before it takes it.
 */
export function tierColors(tiers: Iterable<string>): ReadonlyMap<string, number> {
  const named = [...new Set(tiers)].sort()
  const colors = new Map(named.flatMap((tier) => (usual.includes(tier) ? [[tier, usual.indexOf(tier)]] : [])))
  const taken = new Set(usual.keys())
  for (const tier of named) {
    if (colors.has(tier)) continue
    // The colors of usual tiers that do not exist come last.
    if (taken.size >= colorCount)
      for (const [place, name] of usual.entries()) if (!colors.has(name)) taken.delete(place)
    let color = hashOf(tier) % colorCount
    for (let tries = 0; taken.has(color) && tries < colorCount; tries += 1) color = (color + 1) % colorCount
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
