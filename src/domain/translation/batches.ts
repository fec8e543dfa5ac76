export interface BatchSize {
  readonly units: number;
  /** Characters (UTF-16 units) of all sources together; a longer unit is a batch of its own. */
  readonly characters: number;
}

/** Splits units into batches. Their order stays, and each unit is in one batch. @yields batches with at least one unit */
export function* splitIntoBatches<Unit extends { readonly sourceText: string }>(
  units: Iterable<Unit>,
  size: BatchSize,
): Generator<readonly Unit[]> {
  let batch: Unit[] = [];
  let characters = 0;
  for (const unit of units) {
    const { length } = unit.sourceText;
    if (batch.length > 0 && (batch.length >= size.units || characters + length > size.characters)) {
      yield batch;
      batch = [];
      characters = 0;
    }
    batch.push(unit);
    characters += length;
  }
  if (batch.length > 0) yield batch;
}

/**
 * Chooses what to ask again after an answer.
 *
 * @returns smaller batches with each unit of `left` once; a single unit stays as it is
 */
export function smallerBatches<Unit>(asked: number, left: readonly Unit[]): readonly (readonly Unit[])[] {
  if (left.length < asked || left.length === 1) return [left];
  const middle = Math.ceil(left.length / 2);
  return [left.slice(0, middle), left.slice(middle)];
}
