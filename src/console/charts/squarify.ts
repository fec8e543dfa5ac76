/**
 * Tiles a rectangle with the areas of a tree map; pure.
 *
 * Source: Bruls, Huizing, van Wijk, "Squarified Treemaps" (2000).
 */

/** A tile, pixels. */
export interface Tile {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/**
 * @param weights at least 0, in descending order for the best shapes
 * @returns one tile for each weight; all are empty when the weights sum to 0
 */
export function squarify(
  weights: readonly number[],
  { width, height }: { width: number; height: number },
): readonly Tile[] {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const scale = total > 0 ? (width * height) / total : 0;
  const areas = weights.map((weight) => weight * scale);
  const tiles: Tile[] = [];
  let room: Tile = { x: 0, y: 0, width, height };
  for (let begin = 0; begin < areas.length;) {
    const end = endOfRow(areas, begin, Math.min(room.width, room.height));
    const placed = placeRow(areas.slice(begin, end), room);
    tiles.push(...placed.tiles);
    room = placed.rest;
    begin = end;
  }
  return tiles;
}

function endOfRow(areas: readonly number[], begin: number, side: number): number {
  let [sum, smallest, greatest, worst] = [0, Infinity, 0, Infinity];
  for (let end = begin; end < areas.length; end += 1) {
    const area = areas[end] ?? 0;
    sum += area;
    smallest = Math.min(smallest, area);
    greatest = Math.max(greatest, area);
    const next = Math.max((side * side * greatest) / (sum * sum), (sum * sum) / (side * side * smallest));
    if (next > worst) return end;
    worst = next;
  }
  return areas.length;
}

function placeRow(
  areas: readonly number[],
  room: Tile,
): { readonly tiles: readonly Tile[]; readonly rest: Tile } {
  const sum = areas.reduce((total, area) => total + area, 0);
  const isUpright = room.width >= room.height;
  const side = isUpright ? room.height : room.width;
  const thickness = side > 0 ? sum / side : 0;
  let along = 0;
  const tiles = areas.map((area): Tile => {
    const length = thickness > 0 ? area / thickness : 0;
    const tile = isUpright
      ? { x: room.x, y: room.y + along, width: thickness, height: length }
      : { x: room.x + along, y: room.y, width: length, height: thickness };
    along += length;
    return tile;
  });
  const rest = isUpright
    ? { ...room, x: room.x + thickness, width: Math.max(0, room.width - thickness) }
    : { ...room, y: room.y + thickness, height: Math.max(0, room.height - thickness) };
  return { tiles, rest };
}
