const corner = 2

/** Returns a box with rounded corners as a part of the data of an SVG path. */
export function boxPath(x: number, y: number, width: number, height: number): string {
  const radius = Math.min(corner, width / 2, height / 2)
  const [across, down] = [width - 2 * radius, height - 2 * radius]
  const arc = (toX: number, toY: number): string => `a${radius} ${radius} 0 0 1 ${toX} ${toY}`
  return [
    `M${x + radius} ${y}h${across}${arc(radius, radius)}`,
    `v${down}${arc(-radius, radius)}`,
    `h${-across}${arc(-radius, -radius)}`,
    `v${-down}${arc(radius, -radius)}z`,
  ].join('')
}
