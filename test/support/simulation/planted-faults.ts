/** A fault of the past that is put back into the sources of a simulation, to prove that it is found. */
export interface PlantedFault {
  readonly name: string;
  /** The file of `src`, the text in it that is replaced, and what it is replaced with. */
  readonly file: string;
  readonly text: string;
  readonly replacement: string;
  /** A seed whose first steps find it, and a part of what is then said. */
  readonly seed: number;
  readonly found: string;
}

export const PLANTED_FAULTS: readonly PlantedFault[] = [
  {
    name: 'bit rot served',
    file: 'src/server/bytes/verified-object.ts',
    text: 'this.#compare(memory, start, expected);',
    replacement: '',
    seed: 1,
    found: 'wrong bytes of',
  },
  {
    name: 'foreign store',
    file: 'src/releases/recovery/store-owner.ts',
    text: 'if (format === null) return;\n  const { store_id: storeId } = format;',
    replacement: 'if (format !== null) return;\n  const { store_id: storeId } = { store_id: "" };',
    seed: 29,
    found: 'has written to the store of another one',
  },
  {
    name: 'forgotten idempotency key',
    file: 'src/engine/tasks/task-acceptance.ts',
    text: 'idempotency.remember(digest, task.task_id, dedupeKey, unixSeconds(clock));',
    replacement: '',
    seed: 1258,
    found: 'made task',
  },
  {
    name: 'publish after a withdrawal',
    file: 'src/localization/localized/rollback/rollback-effect.ts',
    text: 'resume === true ? null : withdrawnBy(records)',
    replacement: 'null',
    seed: 3788,
    found: 'was published after a rollback that left none',
  },
  {
    name: 'versions that continue from the volume alone',
    file: 'src/releases/attest/version-counter.ts',
    text: 'highest = lastPossibleVersion(earlier);',
    replacement: 'highest = earlier.volume;',
    seed: 752,
    found: ': attestation ',
  },
];

/** Puts a fault into the source of a file. @throws Error when its text is not there once */
export function plant({ name, file, text, replacement }: PlantedFault, source: string): string {
  const [before, after, ...more] = source.split(text);
  if (before === undefined || after === undefined || more.length > 0)
    throw new Error(`${file} has changed: "${name}" does not fit any more`);
  return before + replacement + after;
}
