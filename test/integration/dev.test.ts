import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { expectedChanges, type DemoReleaseId } from '../../demo/game/demo-story.ts';
import { DEMO_BUNDLE } from '../../demo/game/demo-work.ts';
import { parseJsonExact } from '../../src/contract/json/json-exact.ts';
import { runImport } from '../../src/cli/bundle/import.ts';
import { exportBundle, makeAttestedStore, runBundleCommand } from '../support/bundles.ts';
import { makeCheckout, type Checkout } from '../support/checkout.ts';
import { generateGameRoot } from '../support/game-catalogs.ts';
import { serverInfoDocument } from '../support/generate-release.ts';
import { expectPatchedObjects, type PeerBundle } from '../support/peer-fields.ts';
import { writeReleaseTree } from '../support/release-tree.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { startUpstreamServer, type UpstreamServer } from '../support/upstream-server.ts';
import { askUnityPeer, unityPeer } from '../support/unity-peer.ts';
import { until } from '../support/until.ts';

const run = promisify(execFile);

interface DevSummary {
  readonly pid: number;
  readonly server_url: string;
  readonly daemon_url: string;
  readonly metrics_url: string;
  readonly daemon_metrics_url: string;
  readonly admin_token_file: string;
  readonly daemon_token_file: string;
  readonly cdn_host: string;
  readonly upstream: string;
  readonly release_id: string | null;
}

interface DevProcess {
  readonly output: () => string;
  readonly exitCode: () => number | null;
  stop(signal: NodeJS.Signals): Promise<number | null>;
}

interface DevRun extends DevProcess {
  readonly summary: DevSummary;
}

function spawnDev({ directory, env }: Checkout, data: string, args: readonly string[] = []): DevProcess {
  const child = spawn(join(directory, 'bin/slipway'), ['dev', '--port', '0', '--data', data, ...args], {
    cwd: directory,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  const exited = once(child, 'exit').then(([code]) => code as number | null);
  // A process can end before its last lines are read. One that is killed can leave others with its output for a moment.
  let closed: number | null = null;
  const whole = once(child, 'close').then(([code]) => (closed = code as number | null));
  const stop = async (signal: NodeJS.Signals): Promise<number | null> => {
    if (child.exitCode === null) child.kill(signal);
    return await (signal === 'SIGKILL' ? exited : whole);
  };
  onTestFinished(async () => {
    await stop('SIGTERM');
  });
  return { output: () => output, stop, exitCode: () => closed };
}

async function startDev(checkout: Checkout, data: string): Promise<DevRun> {
  return await untilServed(spawnDev(checkout, data), data);
}

/** Three releases are synced, indexed and translated before the demo is served. */
const DEMO_MS = 400_000;

async function untilServed(dev: DevProcess, data: string): Promise<DevRun> {
  await until(() => dev.output().includes('Press Ctrl-C to stop') || dev.exitCode() !== null, DEMO_MS);
  return { ...dev, summary: await readSummary(data) };
}

async function readSummary(data: string): Promise<DevSummary> {
  return JSON.parse(await readFile(join(data, 'dev.json'), 'utf8')) as DevSummary;
}

/**
 * Runs every command line of the output, as a user pastes it. Each must succeed and print something.
 *
 * @returns what each line prints
 */
async function pasteLines({ directory, env }: Checkout, output: string): Promise<Map<string, string>> {
  const [, after = ''] = output.split('\nTry:\n');
  const [[, first = ''] = [], ...lines] = after.matchAll(/^ {2}(\S.*)$/gm);
  expect(first).toMatch(/^export SLIPWAY_CTL_URL=\S+ SLIPWAY_CTL_TOKEN_FILE=\S.*$/);
  const printed = new Map<string, string>();
  for (const [, line = ''] of lines) {
    const { stdout } = await run('sh', ['-c', `${first}\n${line}`], { cwd: directory, env });
    expect(stdout, line).not.toBe('');
    printed.set(line, stdout);
  }
  return printed;
}

/** The output of the line that has these words. */
function printedBy(printed: ReadonlyMap<string, string>, words: string): string {
  return [...printed].find(([line]) => line.includes(words))?.[1] ?? '';
}

interface PublishedUnit {
  readonly destination: string;
  readonly path_id: number | bigint;
  readonly field_path: string;
  readonly source_text: string;
  readonly translation: { readonly state: string; readonly target_text: string } | null;
}

/** The edits that the localized release of the demo makes in files, as the translations of their units tell. */
async function publishedEdits(summary: DevSummary, pattern: string): Promise<PublishedUnit[]> {
  const path = `/admin/parse/text-units?limit=1000&path_pattern=${encodeURIComponent(pattern)}`;
  const { items } = (await admin(summary, path)) as { items: PublishedUnit[] };
  return items.filter(({ translation }) => ['translated', 'proofread'].includes(translation?.state ?? ''));
}

/** Compares the bundle that was fetched from the localized release with the official one and the stored translations. */
async function expectPatchedBundle(summary: DevSummary, downloaded: Buffer, parsed: string): Promise<void> {
  const units = await publishedEdits(summary, DEMO_BUNDLE);
  const edits = units.map(({ path_id, field_path, source_text, translation }) => ({
    pathId: String(path_id),
    fieldPath: field_path,
    source: source_text,
    target: translation?.target_text ?? '',
  }));
  expect(edits.length).toBeGreaterThan(20);
  expect(parsed).toContain(edits[0]?.target);
  if (unityPeer === null) return;
  const { server_url: url, cdn_host: host, release_id: releaseId } = summary;
  const official = await fetch(`${url}/${host}/${releaseId}/${units[0]?.destination}`);
  const bundles = [Buffer.from(await official.arrayBuffer()), downloaded];
  const [before, after] = (await askUnityPeer('values', bundles)) as PeerBundle[];
  expectPatchedObjects(
    { before, after },
    Map.groupBy(edits, ({ pathId }) => pathId),
  );
}

/** The lines of programs that warn or report an error. */
function complaintsOf(output: string): readonly string[] {
  return output.split('\n').filter((line) => /\b(?:WARN|ERROR|FATAL)\b/u.test(line));
}

/** Waits until the tasks of the second release are built, and compares them with the work that was done on the first one. */
async function expectTranslations(summary: DevSummary): Promise<void> {
  const { coverage } = await until(async () => {
    const report = (await admin(summary, '/admin/translation/status')) as {
      coverage: { by_state: Readonly<Record<string, number>> };
      publish_blockers: readonly { code: string }[];
    };
    return report.publish_blockers.some(({ code }) => code === 'tasks_not_built') ? null : report;
  });
  const { blocked, stale, draft = 0, translated = 0, proofread = 0 } = coverage.by_state;
  expect({ blocked, stale }).toEqual({ blocked: 1, stale: 2 });
  // Lines that are said in many scenes are translated with the first of them.
  expect([draft >= 60, translated >= 39, proofread >= 58]).toEqual([true, true, true]);
  expect(await admin(summary, '/admin/translation/memory/conflicts')).toMatchObject({ total: 1 });
}

/** How the daemon carried the text of the current release over. */
async function carryOver(summary: DevSummary): Promise<unknown> {
  return ((await admin(summary, '/admin/parse/status')) as { carry_over: unknown }).carry_over;
}

/** Asks the admin surface; numbers of 64 bits stay exact. */
async function admin({ server_url, admin_token_file }: DevSummary, path: string): Promise<unknown> {
  const token = (await readFile(admin_token_file, 'utf8')).trim();
  const answer = await fetch(`${server_url}${path}`, { headers: { authorization: `Bearer ${token}` } });
  return parseJsonExact(await answer.text());
}

/** The counts that the generator of the demo states. */
function countsOf(releaseId: DemoReleaseId): { new: number; changed: number; removed: number } {
  const changes = expectedChanges(releaseId);
  if (changes === null) throw new Error(`${releaseId} is the first one`);
  return { new: changes.inserted, changed: changes.changed, removed: changes.removed };
}

async function answers(url: string): Promise<boolean> {
  return await fetch(url).then(
    () => true,
    () => false,
  );
}

/** How `slipway dev next` ended, and all that it printed. */
interface Played {
  readonly code: number | null;
  readonly output: string;
}

async function playNext({ directory, env }: Checkout, data: string): Promise<Played> {
  const argv = ['dev', 'next', '--data', data];
  const { stdout, stderr, code } = await run(join(directory, 'bin/slipway'), argv, {
    cwd: directory,
    env,
  }).then(
    (done) => ({ ...done, code: 0 }),
    (error: { stdout: string; stderr: string; code: number }) => error,
  );
  return { code, output: stdout + stderr };
}

/** Checks the addresses and the files that the start of the demo tells. */
async function expectAnswers({ summary }: DevRun, data: string): Promise<void> {
  expect((await fetch(`${summary.server_url}/v1/bootstrap`)).status).toBe(200);
  expect((await fetch(summary.metrics_url)).status).toBe(200);
  const daemonMetrics = await fetch(summary.daemon_metrics_url);
  expect(await daemonMetrics.text()).toMatch(
    /^slipway_daemon_tasks_total\{kind="sync",outcome="succeeded"\} [1-9]/mu,
  );
  expect((await readFile(summary.admin_token_file, 'utf8')).trim().length).toBeGreaterThanOrEqual(32);
  expect((await fetch(`${summary.daemon_url}/v1/reports/task.list`)).status).toBe(401);
  expect((await stat(summary.daemon_token_file)).mode & 0o777).toBe(0o600);
  expect((await stat(data)).mode & 0o777).toBe(0o700);
}

/** Pastes the lines that the start of the demo prints, and checks what each of them shows. */
async function expectPastedLines(checkout: Checkout, first: DevRun, data: string): Promise<void> {
  const printed = await pasteLines(checkout, first.output());
  expect([...printed.keys()]).toEqual([
    expect.stringMatching(/^curl .*readyz/),
    expect.stringMatching(/^curl .*distribution/),
    expect.stringMatching(/^curl .* -r 0-99/),
    expect.stringMatching(/^bin\/slipway ctl status$/),
    expect.stringMatching(/^bin\/slipway ctl tasks$/),
    expect.stringMatching(/^bin\/slipway ctl run sync --wait$/),
    expect.stringMatching(/^bin\/slipway ctl report parse.status$/),
    expect.stringMatching(/^bin\/slipway ctl report parse.text_units limit=2$/),
    expect.stringMatching(/^bin\/slipway ctl translations status$/),
    expect.stringMatching(/^curl .*\.csv' \| grep ruby$/),
    expect.stringMatching(/^bin\/slipway ctl texts diff \S+-r89_demo \S+-r90_demo$/),
    expect.stringMatching(
      /^bin\/slipway ctl run translation-worker-run max_tasks=3 args=dry_run=true --wait$/,
    ),
    expect.stringMatching(/^bin\/slipway ctl run translation-worker-run max_tasks=3 --wait$/),
    expect.stringMatching(
      /^bin\/slipway ctl translations unit TableBundles\/Localize000\.csv 'row\[2\]\.TextJp'$/,
    ),
    expect.stringMatching(/^curl .*r90_demo-l\d+\/TableBundles\/Localize000\.csv' \| grep 老师$/),
    expect.stringMatching(/^curl .*\.bundle' && bin\/slipway parse .*patched\.bundle\S* --limit 3$/),
    expect.stringMatching(/^bin\/slipway verify /),
  ]);
  expect(first.output()).toContain(
    'It also serves the localized release 1.67.412528-r90_demo-l1. It replaces the texts whose translation is at least\n`translated`',
  );
  expect(printedBy(printed, 'dry_run=true')).toMatch(/"cost":0\.0\d+/);
  expect(printedBy(printed, 'max_tasks=3 --wait')).toMatch(
    /"provider": "demo".*"translated": \d\d.*"failed": 0/s,
  );
  const table = printedBy(printed, 'grep 老师').trimEnd().split('\n');
  const targets = (await publishedEdits(first.summary, 'TableBundles/Localize000.csv')).map(
    ({ translation }) => translation?.target_text ?? '',
  );
  expect(table.filter((line) => !targets.some((target) => line.includes(target)))).toEqual([]);
  await expectPatchedBundle(
    first.summary,
    await readFile(join(data, 'patched.bundle')),
    printedBy(printed, 'slipway parse'),
  );
}

/** Checks what playing the third demo release prints and changes. */
async function expectThirdPlayed(
  checkout: Checkout,
  dev: DevRun,
  played: Played,
  data: string,
): Promise<void> {
  expect(played.code).toBe(0);
  expect(played.output).toContain(
    'Slipway serves release 1.67.412528-r91_demo\nThe localized release 1.67.412528-r91_demo-l1 was published automatically.\n',
  );
  expect(played.output).toMatch(
    /^new +Windows_PatchPack\/scenario-chapter6_assets_all_[0-9a-f]{32}\.bundle$/m,
  );
  expect(played.output).toMatch(/^removed +Scenario\/Scene0042\.json$/m);
  expect(played.output).toMatch(/^renamed +Windows_PatchPack\/scenario-chapter5_assets_all_\*\.bundle$/m);
  const counts = countsOf('1.67.412528-r91_demo');
  expect(await carryOver(dev.summary)).toMatchObject(counts);
  expect(played.output).toContain(`${counts.changed} changed, ${counts.new} new, ${counts.removed} removed`);
  expect((await pasteLines(checkout, played.output)).size).toBe(2);
  const ready = (await (await fetch(`${dev.summary.server_url}/readyz`)).json()) as { release_id: string };
  expect(ready.release_id).toBe('1.67.412528-r91_demo');
  expect(await readSummary(data)).toEqual({ ...dev.summary, release_id: '1.67.412528-r91_demo' });
}

/** Starts a second one on the folder, which must change nothing there. */
async function expectRefused(checkout: Checkout, first: DevRun, data: string): Promise<void> {
  const configuration = await readFile(join(data, 'daemon.yaml'), 'utf8');
  const second = spawnDev(checkout, data, ['--upstream', 'http://127.0.0.1:1/info.json']);
  await until(() => second.exitCode() !== null);
  expect(second.exitCode()).toBe(1);
  expect(second.output()).toBe(
    `slipway dev: already running at ${first.summary.server_url}, pid ${first.summary.pid}; ` +
      'stop it, or use another folder (make run DATA=DIR, or --data DIR)\n',
  );
  expect(await readSummary(data)).toEqual(first.summary);
  expect(await readFile(join(data, 'daemon.yaml'), 'utf8')).toBe(configuration);
}

/** Kills the daemon, and expects another one while the server serves. */
async function expectDaemonStartedAgain(dev: DevRun): Promise<void> {
  const bootOf = async (): Promise<string | null> =>
    await fetch(`${dev.summary.daemon_url}/healthz`).then(
      async (answer) => ((await answer.json()) as { boot_id: string }).boot_id,
      () => null,
    );
  const boot = await bootOf();
  const [, pid] = [...dev.output().matchAll(/daemon_pid=(\d+)/gu)].at(-1) ?? [];
  process.kill(Number(pid), 'SIGKILL');
  const next = await until(async () => {
    const other = await bootOf();
    return other === boot ? null : other;
  });
  expect(next).not.toBeNull();
  expect(dev.output()).toContain('the daemon died; starting it again');
  expect(dev.exitCode()).toBeNull();
  expect((await fetch(`${dev.summary.server_url}/v1/bootstrap`)).status).toBe(200);
}

/** An upstream of a game whose catalog root is closed. */
async function closedUpstream(): Promise<UpstreamServer> {
  const root = generateGameRoot('dev', ['Android', 'iOS']);
  const upstream = await startUpstreamServer({
    files: new Map([...root.files].map(([path, bytes]) => [`r90_dev/${path}`, bytes] as const)),
  });
  onTestFinished(async () => await upstream.close());
  upstream.files.set('info.json', Buffer.from(serverInfoDocument(`${upstream.url}/r90_dev`)));
  upstream.closed.add('r90_dev/');
  return upstream;
}

describe('slipway dev', () => {
  it(
    'plays two demo releases, ends both processes on Ctrl-C, serves immediately at a second start, and plays the third one on demand',
    { timeout: 600_000 },
    async () => {
      const checkout = await makeCheckout({ prepared: true, sources: 'copied' });
      const data = join(await temporaryDirectory(), "the user's data");
      const next = async (): Promise<Played> => await playNext(checkout, data);
      expect(await next()).toEqual({
        code: 1,
        output: expect.stringContaining('nothing runs on the folder'),
      });
      const first = await startDev(checkout, data);
      expect(first.summary.release_id).toBe('1.67.412528-r90_demo');
      expect(first.output()).toContain(
        'Slipway serves release 1.67.412528-r89_demo. Playing the work of its translators.',
      );
      expect(first.output()).toContain('Playing 1.67.412528-r90_demo, the next demo release.');
      expect(first.output()).toContain(
        `in a second terminal: make run-next DATA='${data.replace("'", String.raw`'\''`)}'`,
      );
      expect(await carryOver(first.summary)).toMatchObject(countsOf('1.67.412528-r90_demo'));
      await expectTranslations(first.summary);
      await expectAnswers(first, data);
      await expectPastedLines(checkout, first, data);
      expect(first.output()).not.toMatch(/INFO {2}request method=/);
      expect(first.output()).not.toMatch(/ 0 %/);
      expect(complaintsOf(first.output())).toEqual([]);
      expect(await first.stop('SIGINT')).toBe(0);
      const stops = first.output().matchAll(/ (server|daemon) INFO {2}(shutting down|stopped) /g);
      expect([...stops].map(([, name, event]) => `${name} ${event}`)).toEqual([
        'server shutting down',
        'server stopped',
        'daemon shutting down',
        'daemon stopped',
      ]);
      expect(await answers(first.summary.server_url)).toBe(false);
      expect(await answers(first.summary.daemon_url)).toBe(false);

      const second = await startDev(checkout, data);
      expect(second.summary.release_id).toBe(first.summary.release_id);
      const played = await next();
      await expectThirdPlayed(checkout, second, played, data);
      expect(complaintsOf(second.output() + played.output)).toEqual([]);
      expect(await next()).toEqual({ code: 1, output: expect.stringContaining('is the last demo release') });
      expect(await second.stop('SIGTERM')).toBe(0);
    },
  );

  it('stays up, unready, while upstream is closed, says why and how to sync, and serves by itself once upstream opens', async () => {
    const upstream = await closedUpstream();
    const checkout = await makeCheckout({ prepared: true, sources: 'linked' });
    const data = join(await temporaryDirectory(), 'data');
    const dev = spawnDev(checkout, data, ['--upstream', `${upstream.url}/info.json`]);
    await until(() => dev.output().includes('To sync now:') || dev.exitCode() !== null);
    expect(dev.output()).toContain('The sync failed: upstream_closed: the catalog root');
    expect(dev.exitCode()).toBeNull();
    const [, url = ''] = /stays up at (\S+)\. /.exec(dev.output()) ?? [];
    expect((await fetch(`${url}/readyz`)).status).toBe(503);
    const unserved = await readSummary(data);
    expect(unserved).toMatchObject({ server_url: url, release_id: null });
    expect(dev.output()).toContain(`Console:   ${url}/admin/dashboard/`);
    expect(dev.output()).toContain(`Metrics:   ${unserved.metrics_url}`);
    expect(dev.output()).toContain(`Daemon:    ${unserved.daemon_url}\n`);
    expect(dev.output()).toContain(`${unserved.daemon_metrics_url} (its metrics)`);
    const [, line = ''] = await until(() => /To sync now:\n {2}(.*)\n/.exec(dev.output()));
    upstream.closed.clear();
    const { summary } = await untilServed(dev, data);
    expect(summary.release_id).toBe('r90_dev');
    expect((await fetch(`${summary.server_url}/readyz`)).status).toBe(200);
    await run('sh', ['-c', line], { cwd: checkout.directory, env: checkout.env });
    expect(await dev.stop('SIGTERM')).toBe(0);
  });

  it('serves the release of a bundle that was imported into a folder, and an edge of it copies the release', async () => {
    const folder = await temporaryDirectory();
    const store = await makeAttestedStore(join(folder, 'far'));
    await store.release({ releaseId: 'r1', files: { 'a/ü.bin': 'carried' } });
    const [bundle, bundles] = [join(folder, 'r1.tar'), join(folder, 'bundles')];
    await exportBundle(store, 'r1', bundle);
    const argv = [bundle, '--keys', store.keyFile, '--to', bundles];
    expect(await runBundleCommand(runImport, ...argv)).toMatchObject({ code: 0 });
    const made = await makeCheckout({ prepared: true, sources: 'linked' });
    // A user names the host that clients know.
    const checkout = { ...made, env: { ...made.env, SLIPWAY_CDN_HOST: 'files.example.org' } };
    const data = join(folder, 'data');
    const args = ['--upstream', `bundle+${bundles}`, '--keys', store.keyFile];
    const { summary, output } = await untilServed(spawnDev(checkout, data, args), data);
    expect(summary).toMatchObject({ release_id: 'r1', upstream: 'bundle', cdn_host: 'files.example.org' });
    expect(output()).toContain(`'${summary.server_url}/files.example.org/r1/a/%C3%BC.bin'`);
    const carried = async ({ server_url, cdn_host }: DevSummary): Promise<string> =>
      await (await fetch(`${server_url}/${cdn_host}/r1/a/%C3%BC.bin`)).text();
    expect(await carried(summary)).toBe('carried');
    const edgeData = join(folder, 'edge');
    const trusted = join(data, 'keys', 'signing.pub');
    const edgeArgs = ['--upstream', `slipway+${summary.server_url}`, '--keys', trusted];
    const edge = await untilServed(spawnDev(checkout, edgeData, edgeArgs), edgeData);
    expect(edge.summary).toMatchObject({ release_id: 'r1', upstream: 'slipway' });
    expect(await carried(edge.summary)).toBe('carried');
  });

  it('ends with SIGTERM while upstream cannot be reached', async () => {
    const checkout = await makeCheckout({ prepared: true, sources: 'linked' });
    const data = join(await temporaryDirectory(), 'data');
    const dev = spawnDev(checkout, data, ['--upstream', 'http://127.0.0.1:1/info.json']);
    await until(() => dev.output().includes('upstream_unreachable') || dev.exitCode() !== null);
    expect(dev.exitCode()).toBeNull();
    expect(await dev.stop('SIGTERM')).toBe(0);
  });

  it('refuses a data folder that it already runs on, starts a killed daemon again, and leaves nothing behind when it is killed', async () => {
    const checkout = await makeCheckout({ prepared: true, sources: 'linked' });
    const upstream = await temporaryDirectory();
    await writeReleaseTree(upstream, { id: 'r1', files: new Map([['a.bin', Buffer.from('a')]]) });
    const data = join(await temporaryDirectory(), 'data');
    const dev = await untilServed(spawnDev(checkout, data, ['--upstream', upstream]), data);
    await expectRefused(checkout, dev, data);

    // The daemon of another folder on the same volume waits as a standby: Ctrl-C ends it.
    const other = join(await temporaryDirectory(), 'other');
    await mkdir(other);
    for (const name of ['snapshot', 'keys']) await symlink(join(data, name), join(other, name));
    const standby = spawnDev(checkout, other, ['--upstream', upstream]);
    await until(() => standby.output().includes('this daemon is a standby'));
    expect(await standby.stop('SIGINT')).toBe(0);

    await expectDaemonStartedAgain(dev);
    await dev.stop('SIGKILL');
    await until(
      async () => !(await answers(dev.summary.server_url)) && !(await answers(dev.summary.daemon_url)),
    );
  });

  it.each(['no-folder', 'ftp://example.test/x'])(
    'refuses the upstream %s before it creates anything',
    async (upstream) => {
      const checkout = await makeCheckout({ prepared: true, sources: 'linked' });
      const directory = await temporaryDirectory();
      const dev = spawnDev(checkout, join(directory, 'data'), ['--upstream', upstream]);
      await until(() => dev.exitCode() !== null);
      expect(dev.exitCode()).toBe(2);
      expect(dev.output()).toMatch(
        new RegExp(`^slipway dev: --upstream ${upstream}: .*use a folder or an http\\(s\\) URL`),
      );
      expect(await readdir(directory)).toEqual([]);
    },
  );
});
