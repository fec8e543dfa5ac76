import type { Clock } from '../platform/process/clock.ts';
import type { ImportReport } from '../engine/exchange/import-report.ts';
import type { TaskContext } from '../engine/tasks/task.ts';

/** What imports and exports of human work need. */
export interface ExchangeDependencies {
  readonly clock: Clock;
  /** Makes an id, without its prefix. */
  readonly createId: () => string;
  readonly exchangeRoot: () => string;
  readonly dataDirectory: string;
  /** Of Slipway; exported files name it. */
  readonly version: string;
}

export interface JudgedItem<Entry> {
  readonly line: number;
  readonly entry: Entry;
}

/**
 * Stores the items of a file in batches, and reports the outcome of each. Others are answered between two batches.
 *
 * @param judge gives what is to be stored of an item; it reports the rest itself
 * @param store gives one outcome for each entry, in their order
 * @throws the errors of `judge` and `store`; the signal's reason
 */
export async function storeInBatches<Item, Entry, Outcome extends string>(
  items: AsyncIterable<Item>,
  { signal, report }: { readonly signal: AbortSignal; readonly report: ImportReport<Outcome | 'refused'> },
  size: number,
  judge: (item: Item) => readonly JudgedItem<Entry>[],
  store: (
    entries: readonly Entry[],
  ) => Promise<readonly { readonly outcome: Outcome | 'refused'; readonly message: string | null }[]>,
): Promise<void> {
  let batch: JudgedItem<Entry>[] = [];
  const flush = async (): Promise<void> => {
    signal.throwIfAborted();
    const outcomes = await store(batch.map(({ entry }) => entry));
    for (const [at, { line }] of batch.entries()) {
      const { outcome = 'refused', message = null } = outcomes[at] ?? {};
      report.add(line, outcome, message ?? undefined);
    }
    batch = [];
  };
  for await (const item of items) {
    for (const judged of judge(item)) {
      batch.push(judged);
      if (batch.length === size) await flush();
    }
  }
  if (batch.length > 0) await flush();
}

/** Reads entries page by page, and shows how many are done. @param read gives a page, and the place of the next one; `null` at the end */
export async function* entriesInPages<Entry, Place>(
  context: TaskContext,
  first: Place,
  read: (place: Place) => Promise<{ readonly entries: readonly Entry[]; readonly next: Place | null }>,
): AsyncGenerator<Entry> {
  let done = 0;
  let place: Place | null = first;
  while (place !== null) {
    const page: { readonly entries: readonly Entry[]; readonly next: Place | null } = await read(place);
    yield* page.entries;
    done += page.entries.length;
    context.progress(done, null, 'entries', 'export');
    place = page.next;
  }
}
