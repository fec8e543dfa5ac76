/** Maximum number of letters in which a mistyped name may differ from the known one. */
const MAX_DISTANCE = 2;
/** Longer names are not compared; nobody mistypes those by two letters. */
const MAX_LENGTH = 64;

/** The name that was probably meant, without regard to case. @returns `null` when none is close */
export function closestName(written: string, names: readonly string[]): string | null {
  if (written.length > MAX_LENGTH) return null;
  const [best] = names
    .map((name) => ({ name, distance: editDistance(written.toLowerCase(), name.toLowerCase()) }))
    .filter(({ name, distance }) => distance <= MAX_DISTANCE && distance < name.length / 2)
    .sort((left, right) => left.distance - right.distance);
  return best?.name ?? null;
}

function editDistance(left: string, right: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: right.length + 1 }, (_, at) => at);
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= right.length; column += 1) {
      const same = left[row - 1] === right[column - 1];
      const swapped = left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      current[column] = Math.min(
        (previous[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (previous[column - 1] ?? 0) + (same ? 0 : 1),
        swapped ? (beforePrevious[column - 2] ?? Infinity) + 1 : Infinity,
      );
    }
    beforePrevious = previous;
    previous = current;
  }
  return previous[right.length] ?? 0;
}
