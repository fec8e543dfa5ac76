/** Rows without a backend, for the samples of long lists. */

import type { ListPage, PageRange } from '../../../../src/console/state/paged-source.ts';

/** Rows of the list. */
export const GENERATED_ROWS = 1_000_000;
/** The most rows of one answer, as of a report that bounds its bytes. */
const MOST_ITEMS = 150;
/** As a busy server answers, milliseconds. */
const LATENCY_MS = 40;

const STATES = ['untranslated', 'draft', 'translated', 'proofread', 'blocked', 'stale'] as const;
const TEXTS = [
  'おはようございます、先生。今日もよろしくお願いします。',
  '任務が完了しました！報酬を受け取ってください。',
  '「{0}」を[b]{1}[/b]個手に入れた',
  'صباح الخير، كيف حالك اليوم؟',
  'A line without a translation yet',
];

/** One row of the sample. */
export interface GeneratedUnit {
  readonly id: string;
  readonly destination: string;
  readonly text: string;
  readonly state: (typeof STATES)[number];
  /** Characters. */
  readonly length: number;
}

/** Answers like a server with a million units. */
export async function loadGenerated(
  { offset, limit }: PageRange,
  signal: AbortSignal,
): Promise<ListPage<GeneratedUnit>> {
  await new Promise((resolve) => setTimeout(resolve, LATENCY_MS));
  signal.throwIfAborted();
  const wanted = Math.max(0, Math.min(limit, MOST_ITEMS, GENERATED_ROWS - offset));
  const end = offset + wanted;
  return {
    total: GENERATED_ROWS,
    items: Array.from({ length: wanted }, (_, index) => generated(offset + index)),
    next_offset: end < GENERATED_ROWS ? end : null,
  };
}

function generated(index: number): GeneratedUnit {
  const text = TEXTS[index % TEXTS.length] ?? '';
  return {
    id: `tu1_${String(index).padStart(7, '0')}`,
    destination: `Android/Scenario/Chapter${index % 97}/line-${index}.bytes`,
    text,
    state: STATES[(index * 7) % STATES.length] ?? 'draft',
    length: text.length,
  };
}
