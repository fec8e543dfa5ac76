import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sharedFixture } from '../support/shared-fixture.ts';
import { startWorkerSystem } from '../support/worker-system.ts';

/** Characters that a text may bring along unseen, in a translation that is sound without them. */
const CHARACTERS = {
  'a lone surrogate': '\ud800',
  NUL: '\0',
  'a right-to-left override': '\u202e',
  'a zero-width space': '\u200b',
} as const;
type Named = keyof typeof CHARACTERS;

/** Where texts come in: each has a file and a source of its own for each character. */
const ENTRANCES = ['update', 'review', 'worker', 'memory', 'glossary'] as const;
type Entrance = (typeof ENTRANCES)[number];

const NAMES = Object.keys(CHARACTERS) as Named[];
const fileOf = (entrance: Entrance, named: Named): string => `${entrance}-${NAMES.indexOf(named)}.json`;
const sourceOf = (entrance: Entrance, named: Named): string =>
  `先生、${entrance}の${'あいうえ'[NAMES.indexOf(named)]}`;
const targetOf = (named: Named): string => `老师${CHARACTERS[named]}好`;

const started = sharedFixture(async (atEnd) => {
  const files = Object.fromEntries(
    ENTRANCES.flatMap((entrance) =>
      NAMES.map((named) => [fileOf(entrance, named), [sourceOf(entrance, named)]] as const),
    ),
  );
  const world = await startWorkerSystem(files, {}, atEnd);
  await mkdir(join(world.system.directory, 'data', 'exchange'), { recursive: true });
  return world;
});

async function resultOf(entrance: Entrance, named: Named): Promise<Record<string, string>> {
  const [unit] = await started().units(fileOf(entrance, named));
  return {
    unit_id: unit?.unit_id ?? '',
    source_text: sourceOf(entrance, named),
    translated_text: targetOf(named),
  };
}

async function put(name: string, ...lines: readonly object[]): Promise<void> {
  const path = join(started().system.directory, 'data', 'exchange', name);
  await writeFile(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
}

/** Runs a job on a file of the exchange folder. @returns its result, or the code of its failure */
async function importFile(action: string, file: string): Promise<string> {
  const world = started();
  const id = `import-${file}`;
  await world.act('schedule-add', {
    id,
    group: 'i18n',
    action,
    args: [`file=${file}`],
    every_seconds: 86_400,
  });
  const { body } = await world.act('schedule-run', { id });
  const [taskId] = (body['result'] as { task_ids: string[] }).task_ids;
  const { result, failure_code: code } = await world.ended(taskId ?? '');
  const counts = Object.entries((result?.['counts'] ?? {}) as Record<string, number>);
  return code ?? counts.flatMap(([outcome, count]) => (count === 0 ? [] : [outcome])).join();
}

/** The state of the unit of a file, and its findings. */
async function stored(entrance: Entrance, named: Named): Promise<string> {
  const [unit] = await started().units(fileOf(entrance, named));
  const { state, findings, target_text: text } = (unit?.translation ?? {}) as Partial<Stored>;
  if (text !== null) expect(text).toBe(targetOf(named));
  return [state, ...(findings ?? []).map(({ check }) => check)].join(' ');
}

interface Stored {
  readonly state: string;
  readonly findings: readonly { readonly check: string }[];
  readonly target_text: string | null;
}

const SEND: Readonly<Record<Entrance, (named: Named) => Promise<string>>> = {
  update: async (named) => {
    const world = started();
    const { task_id } = await world.task(fileOf('update', named));
    const translation_results = [await resultOf('update', named)];
    const { status } = await world.act('translation-task-update', {
      task_id,
      status: 'in_progress',
      translation_results,
    });
    return `${status} ${await stored('update', named)}`;
  },
  review: async (named) => {
    const world = started();
    const { unit_id, source_text, translated_text } = await resultOf('review', named);
    const file = `review-${NAMES.indexOf(named)}.jsonl`;
    await put(file, { unit_id, source_text, target_text: translated_text, state: 'proofread' });
    const { body } = await world.act('translation-proofread', { translation_file: file, reviewer: 'Rin' });
    const { status, failure_code: code } = await world.ended(String(body['task_id']));
    return `${code ?? status} ${await stored('review', named)}`;
  },
  worker: async (named) => {
    const world = started();
    const name = `worker-${NAMES.indexOf(named)}.jsonl`;
    await world.fixture(name, [await resultOf('worker', named)]);
    const { task_id } = await world.task(fileOf('worker', named));
    const { status } = await world.run({ provider: 'fixture', fixture_path: name, task_id, max_attempts: 1 });
    return `${status} ${await stored('worker', named)}`;
  },
  memory: async (named) => {
    const file = `memory-${NAMES.indexOf(named)}.jsonl`;
    const languages = { source_language: 'ja', target_language: 'zh-Hans' };
    await put(file, { ...languages, source_text: sourceOf('memory', named), target_text: targetOf(named) });
    return await importFile('memory-import', file);
  },
  glossary: async (named) => {
    const file = `glossary-${NAMES.indexOf(named)}.csv`;
    const path = join(started().system.directory, 'data', 'exchange', file);
    const text = `source,translation\n${sourceOf('glossary', named)},${targetOf(named)}\n`;
    await writeFile(path, bytesOf(text));
    return await importFile('glossary-import', file);
  },
};

/** UTF-8, with a lone surrogate as careless programs write it. Source: The Unicode Standard 3.9, table 3-7 forbids it. */
function bytesOf(text: string): Buffer {
  const parts = text.split(CHARACTERS['a lone surrogate']).map((part) => Buffer.from(part));
  return Buffer.concat(
    parts.flatMap((part, at) => (at === 0 ? [part] : [Buffer.from([0xed, 0xa0, 0x80]), part])),
  );
}

/** The outcome of a target with each character, in the order of {@link NAMES}. */
const OUTCOMES: Readonly<Record<Entrance, readonly [string, string, string, string]>> = {
  update: [
    '400 untranslated',
    '202 blocked control_character',
    '202 blocked bidi_control',
    '202 draft zero_width_character',
  ],
  review: [
    'import_refused untranslated',
    'import_refused untranslated',
    'import_refused untranslated',
    'succeeded proofread zero_width_character',
  ],
  worker: [
    'failed untranslated',
    'succeeded blocked control_character',
    'succeeded blocked bidi_control',
    'succeeded draft zero_width_character',
  ],
  memory: ['refused', 'refused', 'added', 'added'],
  glossary: ['file_refused', 'refused', 'added', 'added'],
};

describe('a translation that holds', () => {
  const cases = ENTRANCES.flatMap((entrance) =>
    NAMES.map((named, at) => ({ entrance, named, outcome: OUTCOMES[entrance][at] })),
  );
  it.each(cases)('$named, through the entrance $entrance: $outcome', async ({ entrance, named, outcome }) => {
    expect(await SEND[entrance](named)).toBe(outcome);
  });
});
