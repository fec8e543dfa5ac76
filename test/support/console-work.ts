import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { translateDemoLine } from '../../demo/game/translate-line.ts';
import { CONSOLE_FILES, CONSOLE_RELEASES, consoleRelease } from './console-release.ts';
import type { ConsolePerson, ConsoleUnit, ConsoleWorld } from './console-world.ts';
import { until } from './until.ts';

const PAIR = { source_language: 'ja', target_language: 'zh-Hans' };
const [, SECOND] = CONSOLE_RELEASES;
const LIVE: ReadonlySet<string> = new Set(['queued', 'running', 'cancelling']);
const PLACEHOLDER = /\{[^}]*\}|%[ds]/;

/** Plays the work of all people on both releases, so that the world has every state. */
export async function playConsoleWork(world: ConsoleWorld): Promise<void> {
  await addTerms(world);
  await complete(world, CONSOLE_FILES.published);
  await accept(world, CONSOLE_FILES.published);
  await publish(world, 'the first chapter');
  await complete(world, CONSOLE_FILES.held);
  await accept(world, CONSOLE_FILES.held);
  await complete(world, CONSOLE_FILES.stale);
  await world.offer(SECOND, consoleRelease(SECOND));
  await untilLocalized(world, `${SECOND}-l1`);
  await complete(world, CONSOLE_FILES.glossary);
  await accept(world, CONSOLE_FILES.glossary);
  await publish(world, 'with the club room');
  await workOnSecond(world);
  await closeTasks(world);
  await fillMemory(world);
  await addSchedules(world);
  await leaveRuns(world);
}

/** Terms in every state; 放送部, which no text has, has a twin: both are approved and want different translations. */
async function addTerms({ act, read }: ConsoleWorld): Promise<void> {
  const add = async (
    person: ConsolePerson,
    term_id: string,
    [source_term, recommended_translation, category]: readonly [string, string, string],
    fields: object = {},
  ): Promise<void> => {
    const source = { source_kind: 'manual', observed_unix_seconds: 1_767_225_600 };
    const term = { ...PAIR, term_id, source_term, recommended_translation, category, source };
    await act(person, 'translation-glossary-add', { ...term, ...fields });
  };
  const approved = { review_status: 'approved', reviewer: 'rin' };
  await add('review', 'sensei', ['先生', '老师', 'person'], { ...approved, allowed_translations: ['教师'] });
  await add('review', 'headquarters', ['司令部', '指挥部', 'place'], { ...approved, aliases: ['本部'] });
  await add('review', 'game-club', ['ゲーム開発部', '游戏开发部', 'organisation'], approved);
  await add('review', 'robot', ['ロボット', '机器人', 'item'], approved);
  await add('translate', 'hot-spring', ['温泉郷', '温泉乡', 'place']);
  await add('translate', 'promise', ['約束', '约定', '']);
  await add('review', 'radio-club', ['放送部', '广播部', 'organisation'], approved);
  await add('translate', 'radio-club-twin', ['放送部', '放送社', 'place']);
  const twin = { term_id: 'radio-club-twin', reviewer: 'rin', force: true };
  await act('review', 'translation-glossary-approve', twin);
  await add('review', 'radio', ['無線機', '无线电', 'item'], approved);
  const old = { term_id: 'radio', reviewer: 'rin', reason: 'the game says 对讲机' };
  await act('review', 'translation-glossary-deprecate', old);
  await add('translate', 'secret', ['秘密', '隐秘', '']);
  const wrong = { term_id: 'secret', review_status: 'rejected', reviewer: 'rin', reason: 'a common word' };
  await act('review', 'translation-glossary-update', wrong);
  const { total } = await read('translation.glossary.query', {});
  if (total !== 10) throw new Error(`the Glossary has ${total} terms`);
}

async function workOnSecond(world: ConsoleWorld): Promise<void> {
  const { act, units, task } = world;
  const lines = await units(CONSOLE_FILES.drafts);
  const drafts = async (from: number, to: number, other: Partial<Targets> = {}): Promise<void> => {
    await send(world, { destination: CONSOLE_FILES.drafts, units: lines.slice(from, to), ...other });
  };
  await drafts(0, 140);
  // What a file brings is a candidate of the Translation Memory at once.
  await drafts(55, 57, { change: (line) => `${line}～`, fields: { provider: 'file' } });
  // A person holds the next lines, and another one has changed a target.
  await drafts(140, 150, { fields: { worker_id: 'kana', lease_seconds: 86_400 } });
  await drafts(0, 1, { change: (line) => `${line}～`, person: 'review' });

  await complete(world, CONSOLE_FILES.translated);
  await complete(world, CONSOLE_FILES.proofread);
  await accept(world, CONSOLE_FILES.proofread);
  await leaveErrors(world);

  const held = (await units(CONSOLE_FILES.held)).slice(0, 2);
  await act('review', 'translation-proofread', {
    task_id: await task(CONSOLE_FILES.held),
    status: 'pending',
    reviewer: 'rin',
    reason: 'the tone is too formal',
    translation_results: held.map(resultOf()),
    args: held.map(({ unit_id: id }) => `hold=${id}`),
  });
}

/** Errors of checks, and one of the Glossary in a file that was proofread. */
async function leaveErrors(world: ConsoleWorld): Promise<void> {
  const destination = CONSOLE_FILES.blocked;
  const buttons = await world.units(destination);
  const withPlaceholder = buttons.filter(({ source_text: source }) => PLACEHOLDER.test(source));
  const without = buttons.filter(({ source_text: source }) => !PLACEHOLDER.test(source));
  await send(world, { destination, units: buttons });
  const lose = (line: string): string => line.replace(PLACEHOLDER, '');
  await send(world, { destination, units: withPlaceholder.slice(0, 2), change: lose });
  await send(world, { destination, units: without.slice(0, 1), change: (line) => line.repeat(6) });
  const lines = await world.units(CONSOLE_FILES.glossary);
  await send(world, {
    destination: CONSOLE_FILES.glossary,
    units: lines.filter(({ source_text: source }) => source.includes('先生')).slice(0, 1),
    change: (line) => line.replaceAll('老师', '大人'),
  });
}

/** Tasks that people have closed. */
async function closeTasks({ act, task }: ConsoleWorld): Promise<void> {
  await act('translate', 'translation-task-update', {
    task_id: await task(CONSOLE_FILES.failed),
    status: 'failed',
    failure_reason: 'the names of the items wait for the publisher',
  });
  await act('translate', 'translation-task-update', {
    task_id: await task(CONSOLE_FILES.skipped),
    status: 'skipped',
    reason: 'nobody reads these notes',
  });
}

/** Two conflicts: two translations of one line, both accepted. */
async function fillMemory(world: ConsoleWorld): Promise<void> {
  const { act, read, units } = world;
  for (const unit of (await units(CONSOLE_FILES.drafts)).slice(150, 152)) {
    const line = translationOf(unit);
    for (const target of [line, `${line.slice(0, -1)}～`]) {
      const fields = { provider: 'file' };
      await send(world, { destination: CONSOLE_FILES.drafts, units: [unit], change: () => target, fields });
      const { matches } = await read('translation.memory.query', { source_text: unit.source_text });
      const record = matches.find(({ record: { target_text: text } }) => text === target)?.record;
      if (record === undefined) throw new Error(`the Translation Memory does not have "${target}"`);
      if (record.state === 'trusted') continue;
      await act('review', 'translation-memory-confirm', {
        record_id: record.record_id,
        reviewer: 'rin',
        reason: 'both are right',
        force: true,
      });
    }
  }
}

/** Schedules of all groups: one that runs, one that is disabled, and one that has run for the last time and failed. */
async function addSchedules({ act, read, ended, exchange }: ConsoleWorld): Promise<void> {
  const add = async (person: ConsolePerson, body: object): Promise<string> =>
    await act(person, 'schedule-add', body);
  const day = 86_400;
  await add('operate', {
    id: 'nightly-verify',
    group: 'res',
    action: 'verify',
    every_seconds: day,
    delay_seconds: day,
  });
  await add('operate', {
    id: 'weekly-parse',
    group: 'parse',
    action: 'parse',
    every_seconds: 7 * day,
    delay_seconds: day,
    enabled: false,
  });
  await add('review', {
    id: 'weekly-export',
    group: 'i18n',
    action: 'memory-export',
    args: ['file=memory.tmx'],
    every_seconds: 7 * day,
    delay_seconds: 3600,
  });
  await writeFile(join(exchange, 'broken.tmx'), '<tmx version="1.4"><body><tu>');
  await add('translate', {
    id: 'import-once',
    group: 'i18n',
    action: 'memory-import',
    args: ['file=broken.tmx'],
    delay_seconds: 0,
    max_runs: 1,
  });
  const failed = await until(async () => {
    const { items } = await read('schedule.list');
    return items.find(({ id }) => id === 'import-once')?.last_task_id;
  });
  const { status } = await ended(failed);
  if (status !== 'failed') throw new Error(`the import has ${status}`);
}

/** A run of workers that has leased a task and waits for its provider, and one that was cancelled. */
async function leaveRuns({ act, read, ended, task }: ConsoleWorld): Promise<void> {
  const body = {
    provider: 'libre',
    task_id: await task(CONSOLE_FILES.leased),
    worker_id: 'worker-1',
    lease_seconds: 3600,
  };
  const untilLeased = async (destination: string): Promise<void> => {
    await until(async () => (await read('translation.tasks', { destination })).items[0]?.lease_owner);
  };
  const running = await act('translate', 'translation-worker-run', body);
  await untilLeased(CONSOLE_FILES.leased);
  const other = { provider: 'libre', task_id: await task(CONSOLE_FILES.pending), worker_id: 'worker-2' };
  const cancelled = await act('translate', 'translation-worker-run', other);
  await untilLeased(CONSOLE_FILES.pending);
  await act('translate', 'task-cancel', { task_id: cancelled, reason: 'the event is not announced yet' });
  await ended(cancelled);
  // The daemon ends what follows from these calls, so that nothing changes under a test.
  await until(async () => {
    const { items } = await read('task.list');
    return items.every(({ task_id: id, status }) => id === running || !LIVE.has(status));
  });
}

/** With `force`, because the first publication has less than the least coverage. */
async function publish({ act, ended }: ConsoleWorld, reason: string): Promise<void> {
  const body = { from_worker: true, force: true, reviewer: 'lead', reason };
  const { status, failure_reason: why } = await ended(await act('publish', 'localized-publish', body));
  if (status !== 'succeeded') throw new Error(`nothing was published: ${status} ${String(why)}`);
}

async function untilLocalized({ read }: ConsoleWorld, id: string): Promise<void> {
  await until(async () => (await read('translation.status')).current?.localized_release_id === id);
}

async function complete(world: ConsoleWorld, destination: string): Promise<void> {
  await send(world, { destination, units: await world.units(destination), status: 'translated' });
}

async function accept({ act, task }: ConsoleWorld, destination: string): Promise<void> {
  const body = { task_id: await task(destination), status: 'proofread', reviewer: 'rin' };
  await act('review', 'translation-proofread', body);
}

/** Targets to send. */
interface Targets {
  readonly destination: string;
  readonly units: readonly ConsoleUnit[];
  readonly status?: 'in_progress' | 'translated';
  /** Makes another target of the right one. */
  readonly change?: (line: string) => string;
  readonly person?: ConsolePerson;
  /** Further fields of the action. */
  readonly fields?: object;
}

async function send({ act, task }: ConsoleWorld, targets: Targets): Promise<void> {
  const { destination, units, status = 'in_progress', change, person = 'translate', fields = {} } = targets;
  await act(person, 'translation-task-update', {
    task_id: await task(destination),
    status,
    translation_results: units.map(resultOf(change)),
    ...fields,
  });
}

function resultOf(change: Targets['change'] = (line) => line): (unit: ConsoleUnit) => object {
  return (unit) => ({
    unit_id: unit.unit_id,
    source_text: unit.source_text,
    translated_text: change(translationOf(unit)),
  });
}

function translationOf({ source_text: source }: ConsoleUnit): string {
  const target = translateDemoLine(source);
  if (target === null) throw new Error(`there is no translation of "${source}"`);
  return target;
}
