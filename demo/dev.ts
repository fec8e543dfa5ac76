import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import process from 'node:process';
import { dirname, join, resolve } from 'node:path';
import { runKeygen } from '../src/cli/keygen/keygen.ts';
import { startChild, type Child } from './child.ts';
import { daemonConfigurationSchema } from '../src/daemon/settings/config.ts';
import { serverConfigurationSchema } from '../src/server/config/config.ts';
import { describeConfiguration } from '../src/platform/config/configuration-key.ts';
import { waitForRelease, type ServedRelease } from './daemon-progress.ts';
import { DEMO_RELEASE_IDS } from './game/demo-story.ts';
import { flatBuffersTableSchema } from './game/flatbuffers-table.ts';
import { startDemoProvider, type DemoProvider } from './demo-provider.ts';
import { createDemoUpstream, type DemoUpstream } from './demo-upstream.ts';
import {
  devLayout,
  makeDataFolder,
  prepareDevFiles,
  writeDaemonConfiguration,
  writeServerConfiguration,
  type DevLayout,
} from './dev-files.ts';
import { isDemoNoise, isSupervisorStop, renderReadableLine } from './log-lines.ts';
import { usageError } from '../src/platform/terminal/usage-error.ts';
import { DEV_USAGE, parseDevOptions, type DevIo, type DevOptions } from './dev-options.ts';
import type { DevUpstream } from './dev-upstream.ts';
import { findRunningDev, writeDevSummary, type DevSummary } from './dev-summary.ts';
import { findFreePorts, isPortBusy } from './free-port.ts';
import { playRelease, waitForIndex, type IndexedRelease, type RunningService } from './play-release.ts';
import { currentLocalized, publishLocalized, waitForLocalized } from './play-localized.ts';
import { playTranslations } from './play-translations.ts';
import { runNext } from './run-next.ts';
import { runUpstream } from './serve-upstream.ts';
import {
  renderAddresses,
  renderFailedSync,
  type CtlAddress,
  readCdnHost,
  renderWelcome,
  shortPath,
  type WelcomeLocalized,
} from './welcome.ts';
import { createProgressDisplay } from '../src/cli/output/progress-display.ts';
import { renderProgress } from '../src/cli/output/progress-line.ts';
import { loadTrustedKeys } from '../src/attestation/keys.ts';
import { messageOf } from '../src/platform/errors.ts';

const STOP_GRACE_MS = 40_000;

/**
 * Runs the whole system on one machine: creates missing files (demo upstream, keys, tokens, configuration), starts the
 * daemon under its supervisor and the server as separate processes, and prints their addresses. Neither a sync that fails
 * nor a daemon that dies ends it: it prints the reason, and the next sync or the supervisor fixes it. `dev next` plays the
 * next demo release on it, and `dev upstream` serves one for a Slipway elsewhere.
 *
 * @param args the command line after `dev`
 * @returns the exit code: 0 after Ctrl-C, 1 when it already runs on the folder, its port is used, or a part ended unexpectedly, 2 for wrong
 *   arguments
 */
export async function runDev(args: readonly string[], io: DevIo): Promise<number> {
  if (args[0] === 'next') return await runNext(args.slice(1), io);
  if (args[0] === 'upstream') return await runUpstream(args.slice(1), io);
  if (args.includes('--help')) {
    io.stdout.write(DEV_USAGE);
    return 0;
  }
  const options = parseDevOptions(args);
  const problems = options.ok ? await problemsOf(options.value, io) : options.error;
  if (!options.ok || problems.length > 0) {
    io.stderr.write(usageError('slipway dev', problems.join('\nslipway dev: ')));
    return 2;
  }
  const layout = devLayout(resolve(options.value.data));
  const running = await findRunningDev(layout.summary, io.clock.now());
  if (running !== null) {
    io.stderr.write(
      `slipway dev: already running at ${running.server_url}, pid ${running.pid}; stop it, or use another folder (make run DATA=DIR, or --data DIR)\n`,
    );
    return 1;
  }
  const { port } = options.value;
  // Before the demo is made, which takes a while.
  if (await isPortBusy(port)) {
    io.stderr.write(
      `slipway dev: another process uses port ${port}; stop it, or use another port (make run PORT=0, or --port 0, takes a free one)\n`,
    );
    return 1;
  }
  const children: Child[] = [];
  // The demo can translate without an account.
  const provider = options.value.upstream.kind === 'demo' ? await startDemoProvider() : null;
  try {
    await serve(options.value, layout, provider, io, children);
    return 0;
  } catch (error) {
    if (io.signal.aborted) return 0;
    io.stderr.write(`slipway dev: ${messageOf(error)}\n`);
    return 1;
  } finally {
    if (children.length > 0) io.stdout.write('stopping\n');
    // The server first: it drains its downloads while the daemon still answers.
    for (const child of children.toReversed()) await child.stop(STOP_GRACE_MS);
    await provider?.close();
    await rm(layout.summary, { force: true });
  }
}

/** The problems of the options that depend on this machine. */
async function problemsOf(
  { upstream, rules }: DevOptions,
  { problemsOfRules }: DevIo,
): Promise<readonly string[]> {
  return [...(await problemsOfUpstream(upstream)), ...(rules === null ? [] : await problemsOfRules(rules))];
}

async function problemsOfUpstream(upstream: DevUpstream): Promise<readonly string[]> {
  const problems = 'keys' in upstream ? await problemsOfKeys(upstream.keys) : [];
  return 'path' in upstream ? [...problems, ...(await problemsOfFolder(upstream.path))] : problems;
}

async function problemsOfFolder(path: string): Promise<readonly string[]> {
  const isFolder = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
  return isFolder
    ? []
    : [`--upstream ${path}: there is no folder ${resolve(path)}; use a folder or an http(s) URL`];
}

/** An edge needs the public key of its origin. */
async function problemsOfKeys(file: string): Promise<readonly string[]> {
  const loaded = await loadTrustedKeys([file]);
  if (loaded.ok) return [];
  const advice = 'copy the public key of the origin here and name it with --keys (make run KEYS=FILE)';
  return loaded.error.map((problem) => `--keys ${problem}; ${advice}`);
}

/** The environment of one of the programs: a setting that only the other one knows would be refused by it as a typing error. */
function environmentOf(name: string): NodeJS.ProcessEnv {
  const [daemon, server] = [daemonConfigurationSchema, serverConfigurationSchema].map(
    (schema) => new Set(describeConfiguration(schema).keys.map(({ env }) => env)),
  );
  const [own, other] = name === 'daemon' ? [daemon, server] : [server, daemon];
  const isForeign = (variable: string): boolean =>
    other?.has(variable) === true && own?.has(variable) === false;
  return Object.fromEntries(Object.entries(process.env).filter(([variable]) => !isForeign(variable)));
}

async function serve(
  options: DevOptions,
  layout: DevLayout,
  provider: DemoProvider | null,
  io: DevIo,
  children: Child[],
): Promise<void> {
  await makeDataFolder(resolve(options.data));
  const [freePort = 0, metricsPort = 0, daemonPort = 0, daemonMetricsPort = 0] = await findFreePorts(4);
  const port = options.port === 0 ? freePort : options.port;
  const summary: DevSummary = {
    pid: process.pid,
    server_url: `http://127.0.0.1:${port}`,
    daemon_url: `http://127.0.0.1:${daemonPort}`,
    metrics_url: `http://127.0.0.1:${metricsPort}/metrics`,
    daemon_metrics_url: `http://127.0.0.1:${daemonMetricsPort}/metrics`,
    admin_token_file: layout.adminToken,
    daemon_token_file: layout.daemonToken,
    cdn_host: null,
    upstream: options.upstream.kind,
    release_id: null,
  };
  await writeDevSummary(layout.summary, summary);
  const demo = await prepare(options, layout, io);
  await writeDaemonConfiguration(
    layout,
    { port: daemonPort, metricsPort: daemonMetricsPort },
    options,
    provider,
  );
  await writeServerConfiguration(layout, { port, metricsPort, daemonUrl: summary.daemon_url });

  const stopped = rejectWhenAborted(io.signal);
  let isPlaying = true;
  const start = async (name: string, program: string, configuration: string): Promise<void> => {
    const child = startChild(
      name,
      join(io.programDirectory, 'cmd', `${program}.ts`),
      configuration,
      environmentOf(name),
      (line) => {
        if (isSupervisorStop(line) || (isPlaying && isDemoNoise(line))) return;
        io.stdout.write(`${renderReadableLine(name, line)}\n`);
      },
    );
    children.push(child);
    await Promise.race([child.listening, stopped]);
  };
  // As in the chart: a daemon that dies is started again while the server serves.
  await start('daemon', 'daemon-supervisor', layout.daemonConfiguration);
  await start('server', 'server', layout.serverConfiguration);
  const announced = announce({ summary, layout, demo, isCopy: 'keys' in options.upstream }, io).finally(
    () => {
      isPlaying = false;
    },
  );
  await Promise.race([announced, rejectWhenEnded(children), stopped]);
}

/**
 * Creates the missing parts of the data folder: folders, tokens, keys and the demo upstream.
 *
 * @returns the demo upstream; `null` with another one
 */
async function prepare({ upstream }: DevOptions, layout: DevLayout, io: DevIo): Promise<DemoUpstream | null> {
  await prepareDevFiles(layout);
  await prepareKeys(layout, io);
  if (upstream.kind !== 'demo') return null;
  io.stdout.write('preparing the demo upstream\n');
  await writeFile(layout.demoSchema, flatBuffersTableSchema());
  const demo = createDemoUpstream(layout.upstream);
  await demo.offer((await demo.offered()) ?? DEMO_RELEASE_IDS[0]);
  return demo;
}

/** Prints the addresses, then what happens until a release is served, then how to use it; never settles. */
async function announce(
  {
    summary,
    layout,
    demo,
    isCopy,
  }: {
    readonly summary: DevSummary;
    readonly layout: DevLayout;
    readonly demo: DemoUpstream | null;
    /** Whether the upstream is what another Slipway signed. */
    readonly isCopy: boolean;
  },
  io: DevIo,
): Promise<never> {
  io.stdout.write(renderAddresses(summary));
  const service = {
    serverUrl: summary.server_url,
    tokenFile: layout.adminToken,
    adminToken: (await readFile(layout.adminToken, 'utf8')).trim(),
    programDirectory: io.programDirectory,
  };
  const first = await waitWithProgress(service, io);
  const { releaseId, carryOver, localized } =
    demo === null
      ? { ...first, carryOver: null, localized: null }
      : await playSecond(demo, first.releaseId, service, io);
  const cdnHost = await readCdnHost(summary.server_url);
  await writeDevSummary(layout.summary, { ...summary, cdn_host: cdnHost, release_id: releaseId });
  io.stdout.write(
    await renderWelcome({
      ...service,
      releaseId,
      cdnHost,
      snapshotRoot: layout.snapshot,
      publicKeyFile: join(layout.keys, 'signing.pub'),
      isCopy,
      demo:
        demo === null
          ? null
          : {
              dataDirectory: dirname(layout.summary),
              previousReleaseId: carryOver?.previous_release_id ?? null,
              nextReleaseId: await demo.following(),
              localized,
            },
    }),
  );
  return await new Promise<never>(() => undefined);
}

/** Waits for the first release, and shows what its sync does. */
async function waitWithProgress(service: RunningService & CtlAddress, io: DevIo): Promise<ServedRelease> {
  const display = createProgressDisplay(io.stdout, io.clock);
  try {
    return await waitForRelease(service, io, {
      onProgress: (progress) => {
        // A phase without progress yet may end before the next poll, and its line would stay at 0 %.
        if (progress.done > 0) display.show(renderProgress(progress), progress.phase);
      },
      onFailure: (failure) => {
        display.end();
        io.stdout.write(renderFailedSync(failure, service));
      },
    });
  } finally {
    display.end();
  }
}

interface PlayedRelease extends IndexedRelease {
  /** The localized release that is built on it, if any. */
  readonly localized: WelcomeLocalized | null;
}

/**
 * Plays the work of translators, its publication and the second demo release when the first one is on offer, so that there are
 * two releases to compare, translations that are carried over, and a localized release that follows automatically.
 *
 * @returns the release that is served; without a comparison when its text cannot be indexed
 */
async function playSecond(
  demo: DemoUpstream,
  served: string,
  service: RunningService,
  io: DevIo,
): Promise<PlayedRelease> {
  const [first, second] = DEMO_RELEASE_IDS;
  try {
    if ((await demo.offered()) !== first) {
      const index = await waitForIndex(service, served, io);
      return { ...index, localized: await currentLocalized(service, served, io) };
    }
    io.stdout.write(`\nSlipway serves release ${served}. Playing the work of its translators.\n`);
    await waitForIndex(service, served, io);
    const isLocalized = await playLocalization(service, served, io);
    io.stdout.write(`Playing ${second}, the next demo release.\n`);
    const played = await playRelease(demo, second, service, io);
    const localized = isLocalized ? await waitForLocalized(service, played.releaseId, io) : null;
    return { ...played, localized };
  } catch (error) {
    io.signal.throwIfAborted();
    io.stdout.write(`${messageOf(error)}\n`);
    return { ...(await waitForRelease(service, io)), carryOver: null, localized: null };
  }
}

/** @returns whether a localized release is published; else the reason is printed */
async function playLocalization(service: RunningService, served: string, io: DevIo): Promise<boolean> {
  try {
    await playTranslations(service, served, io);
    await publishLocalized(service, io);
    return true;
  } catch (error) {
    io.signal.throwIfAborted();
    io.stdout.write(`${messageOf(error)}\n`);
    return false;
  }
}

async function prepareKeys(layout: DevLayout, io: DevIo): Promise<void> {
  const present = await stat(join(layout.keys, 'signing.key')).then(
    () => true,
    () => false,
  );
  if (present) return;
  const code = await runKeygen([`--out=${shortPath(layout.keys)}`], { stdout: io.stdout, stderr: io.stderr });
  if (code !== 0) throw new Error(`no signing key could be created in ${layout.keys}`);
}

/** @throws Error when the first of the processes has ended */
async function rejectWhenEnded(children: readonly Child[]): Promise<never> {
  const end = await Promise.race(children.map(async ({ name, exited }) => ({ name, ...(await exited) })));
  throw new Error(`the ${end.name} ended (${end.signal ?? `exit code ${end.code}`}); see the lines above`);
}

/** @throws the signal's reason once it is aborted */
async function rejectWhenAborted(signal: AbortSignal): Promise<never> {
  return await new Promise<never>((_resolve, reject) => {
    const stop = (): void => {
      reject(signal.reason as Error);
    };
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}
