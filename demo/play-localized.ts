import type { DevIo } from './dev-options.ts';
import { parseJsonExact } from '../src/contract/json/json-exact.ts';
import { REPORTS } from '../src/contract/reports/reports.ts';
import { DEMO_BUNDLE, DEMO_PEOPLE } from './game/demo-work.ts';
import { callCtl, type RunningService } from './play-release.ts';
import type { WelcomeLocalized } from './welcome.ts';

const POLL_MS = 250;
/** Of a task that has not ended. */
const LIVE: ReadonlySet<string> = new Set(['queued', 'running']);
const STATUS = REPORTS['translation.status'].answer.schema;
const UNITS = REPORTS['parse.text_units'].answer.schema;

/**
 * Publishes the finished translations of the served release as a localized release, and returns when it is current.
 *
 * @throws Error with the output when it fails; the signal's reason
 */
export async function publishLocalized(service: RunningService, io: DevIo): Promise<void> {
  const fields = ['from_worker=true', `reviewer=${DEMO_PEOPLE.reviewer}`, 'reason=first localized release'];
  await callCtl(service, ['run', 'localized-publish', ...fields, '--wait'], io);
}

/**
 * Waits until a localized release follows the official one automatically.
 *
 * @param baseReleaseId the official release
 * @throws Error with the reason when none follows: automatic publishing is stopped or off, too little is translated, or the run
 *   that publishes it has failed; the signal's reason
 */
export async function waitForLocalized(
  service: RunningService,
  baseReleaseId: string,
  io: DevIo,
): Promise<WelcomeLocalized> {
  let lackBefore: string | null = null;
  for (;;) {
    const current = await currentLocalized(service, baseReleaseId, io);
    if (current !== null) return current;
    const { hasWork } = await requireNoFailure(service, io);
    // While a task changes the texts, and between two tasks, a status can be of the moment before.
    const lack = hasWork ? null : await readLack(service, io);
    if (lack !== null && lack === lackBefore) throw new Error(`no localized release follows: ${lack}`);
    lackBefore = lack;
    await io.clock.sleep(POLL_MS, io.signal);
  }
}

/**
 * The localized release that is current.
 *
 * @param baseReleaseId the official release
 * @returns `null` without one that is built on it
 */
export async function currentLocalized(
  service: RunningService,
  baseReleaseId: string,
  io: DevIo,
): Promise<WelcomeLocalized | null> {
  const report = await callCtl(service, ['report', 'translation.status', '--output', 'json'], io);
  const { current } = STATUS.parse(parseJsonExact(report));
  if (current?.base_release_id !== baseReleaseId) return null;
  const units = await callCtl(
    service,
    ['report', 'parse.text_units', `path_pattern=${DEMO_BUNDLE}`, 'limit=1', '--output', 'json'],
    io,
  );
  const [unit] = UNITS.parse(parseJsonExact(units)).items;
  return unit === undefined ? null : { releaseId: current.localized_release_id, bundle: unit.destination };
}

/** Why no localized release will follow; `null` when one follows. */
async function readLack(service: RunningService, io: DevIo): Promise<string | null> {
  const report = await callCtl(service, ['report', 'translation.status', '--output', 'json'], io);
  const { automation, publish_blockers: blockers } = STATUS.parse(parseJsonExact(report));
  return lackOfAutomation(
    automation,
    blockers.map(({ code }) => code),
  );
}

/**
 * Why no localized release follows without an act of a person.
 *
 * @param blockers the codes of what prevents a publication
 * @returns `null` when one follows, or when that is not known yet
 */
export function lackOfAutomation(
  { state, message }: { readonly state: string; readonly message: string },
  blockers: readonly string[],
): string | null {
  if (state === 'off' || state === 'stopped') return message;
  // Until the tasks are built, it waits for them, and later for people.
  return state === 'waiting' && !blockers.includes('tasks_not_built') ? message : null;
}

/**
 * Looks at the newest tasks of the daemon.
 *
 * @returns whether any of them waits or runs
 * @throws Error when the last run that should publish has failed
 */
async function requireNoFailure(service: RunningService, io: DevIo): Promise<{ readonly hasWork: boolean }> {
  const report = await callCtl(service, ['report', 'task.list', '--output', 'json'], io);
  const { items } = REPORTS['task.list'].answer.schema.parse(parseJsonExact(report));
  const last = items.find(({ kind }) => kind === 'localized-follow');
  if (last?.status !== 'failed') return { hasWork: items.some(({ status }) => LIVE.has(status)) };
  throw new Error(
    `no localized release follows: ${last.failure_reason ?? 'the run failed'}; see "slipway ctl task show ${last.task_id}"`,
  );
}
