import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { isControlAction } from '../../src/contract/actions/actions.ts';
import { HealthAnswer } from '../../src/contract/schemas/answers/health.ts';
import type {
  DaemonCondition,
  DaemonConditionCode,
} from '../../src/domain/service-state/daemon-conditions.ts';
import { isCalm } from '../../src/domain/service-state/calm-reasons.ts';
import type { ServiceReason } from '../../src/domain/service-state/service-reasons.ts';
import type { ServiceAnswer } from '../../src/domain/service-state/service-state.ts';
import type { AdminServer } from '../support/admin-client.ts';
import { ctl, type CtlRun } from '../support/ctl.ts';
import { flipBit } from '../support/flip-bit.ts';
import { freePorts } from '../support/free-ports.ts';
import { codeBlocks, commandsOf, splitWords } from '../support/guide-commands.ts';
import { startExampleService } from '../support/example-service.ts';
import type { DaemonFault } from '../support/fake-daemon.ts';
import type { KubeObject } from '../support/helm.ts';
import { sampleFiles, writeReleaseTree } from '../support/release-tree.ts';
import { reusedFixture, type AtEnd } from '../support/shared-fixture.ts';
import { startSystem, type Readyz, type TestSystem } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { writeTokenFile } from '../support/token-file.ts';
import { until } from '../support/until.ts';

const execute = promisify(execFile);

const ROOT = resolve(import.meta.dirname, '../..');
/** What a command for a pod begins with: for the pod of the origin, or for one of an edge. */
const IN_POD = ['deploy/slipway', 'slipway-edge-0'].map(
  (pod) => `kubectl -n slipway exec ${pod} -c server -- `,
);
const IN_CHECKOUT = ['bin/'];
const CDN_HOST = 'cdn.test.invalid';
const BYTES = 'bytes of a file';

/** States of a start for which the alert does not fire. */
const ENDS_BY_ITSELF: ReadonlySet<string | null> = new Set(['Syncing', 'SnapshotLoading', 'DaemonStarting']);
/** Reasons that a server of these tests does not keep. */
const NOT_KEPT: ReadonlySet<string> = new Set(['SnapshotLoading', 'AttestationRolledBack']);

type Severity = 'critical' | 'warning' | 'none';

interface Runbook {
  readonly name: string;
  readonly severity: string | undefined;
  /** Every command of the page, as written. */
  readonly commands: readonly string[];
  /** Words after `slipway ctl`, of the commands in a pod and of those in a checkout. */
  readonly inPod: readonly string[];
  readonly inCheckout: readonly string[];
}

function readRunbook(file: string): Runbook {
  const text = readFileSync(file, 'utf8');
  const commands = codeBlocks(text).flatMap((block) => commandsOf(block.text));
  const ctlAfter = (prefixes: readonly string[]): string[] =>
    commands.flatMap((command) =>
      prefixes
        .map((prefix) => `${prefix}slipway ctl `)
        .filter((start) => command.startsWith(start))
        .map((start) => command.slice(start.length)),
    );
  return {
    name: basename(file, '.md'),
    severity: /^- Severity: \*\*(\w+)\*\*$/m.exec(text)?.[1],
    commands,
    inPod: ctlAfter(IN_POD),
    inCheckout: ctlAfter(IN_CHECKOUT),
  };
}

const RUNBOOKS = globSync('docs/runbooks/[A-Z]*.md', { cwd: ROOT })
  .filter((file) => !file.endsWith('README.md'))
  .map((file) => readRunbook(join(ROOT, file)));

/** Attests a release that is on the volume. */
async function attest(
  { store, daemon }: AdminServer,
  options: { readonly age?: number; readonly version?: number; readonly localizedBase?: string } = {},
): Promise<void> {
  const { age = 0, version = 2, localizedBase } = options;
  const official = await store.addRelease({ releaseId: 'r2', files: { 'a.txt': BYTES } });
  const localized =
    localizedBase === undefined
      ? null
      : await store.addRelease({
          releaseId: `${localizedBase}-l1`,
          channel: 'localized',
          baseReleaseId: localizedBase,
          files: { 'a.txt': BYTES },
        });
  const issuedAt = Math.floor(Date.now() / 1000) - age;
  daemon.setEnvelope(store.attest({ version, issuedAt, official, localized }));
}

function condition(code: DaemonConditionCode): DaemonCondition {
  return { code, message: `told: ${code}`, since: 1_763_683_200, next_try: null };
}

/** The state while the release is served and the daemon tells a condition. */
function served(...codes: readonly DaemonConditionCode[]): (server: AdminServer) => Promise<void> {
  return async (server) => {
    server.daemon.setConditions(codes.map(condition));
    await attest(server);
    await untilServed(server);
  };
}

/** The state while there is no release and the daemon tells a condition. */
function unserved(...codes: readonly DaemonConditionCode[]): (server: AdminServer) => Promise<void> {
  return async ({ daemon, store }) => {
    daemon.setConditions(codes.map(condition));
    daemon.setEnvelope(store.attest({ version: 1, issuedAt: Math.floor(Date.now() / 1000), official: null }));
  };
}

/** How the servers of these tests get into the state of each reason. */
const STATES: Readonly<Record<ServiceReason, (server: AdminServer) => Promise<void>>> = {
  AttestationUnavailable: async () => undefined,
  AttestationInvalid: async ({ daemon }) => daemon.setEnvelope(Buffer.from('{"payload": "forged"}')),
  AttestationNotYetValid: async (server) => await attest(server, { age: -3600 }),
  AttestationExpired: async (server) => await attest(server, { age: 90_000 }),
  // One process refuses it and stays with the newer one. Only one that learned of the newer one from another has this reason.
  AttestationRolledBack: async (server) => {
    await attest(server, { version: 7 });
    await untilServed(server);
    await attest(server, { version: 3 });
    await until(async () => (await healthOf(server)).refresh.last_error_code === 'AttestationRolledBack');
  },
  ReleaseNotAuthorized: unserved(),
  SnapshotMissing: async (server) => {
    await attest(server);
    await damageManifest(server, rm);
  },
  ManifestDamaged: async (server) => {
    await attest(server);
    await damageManifest(server, async (path) => await flipBit(path, 3));
  },
  // It lasts milliseconds, so its page is tried with the state that follows.
  SnapshotLoading: served(),
  EntryMissing: async (server) => {
    await attest(server);
    await rm(server.store.pathOf(BYTES));
  },
  EntryDamaged: async (server) => {
    await attest(server);
    await untilServed(server);
    await flipBit(server.store.pathOf(BYTES), 3);
    // A client finds it.
    await until(async () => (await fetch(`${server.url}/${CDN_HOST}/r2/a.txt`)).status === 503);
  },
  BaseReleaseChanged: async (server) => await attest(server, { localizedBase: 'r1' }),
  ShuttingDown: async (server) => {
    await attest(server);
    server.setShuttingDown();
  },
  // Its server has the address of nobody.
  DaemonUnreachable: async () => undefined,
  DaemonTimeout: async (server) => await failLater(server, 'hang'),
  DaemonStarting: async ({ daemon }) => daemon.setConditions([condition('starting')]),
  RefreshFailing: async (server) => await failLater(server, 'refuse'),
  OriginNotFollowed: served('origin_not_followed'),
  AttestationFailing: served('attestation_failing'),
  ClockOff: served('clock_off'),
  DatabaseDamaged: served('database_damaged'),
  WorkDatabaseUnusable: served('work_database_unusable'),
  CrashLoop: served('crash_loop'),
  VolumeFull: served('volume_full'),
  VolumeUnwritable: served('volume_unwritable'),
  DataVolumeFull: served('data_volume_full'),
  Syncing: unserved('syncing', 'never_synced'),
  NeverSynced: unserved('never_synced'),
  NoUpstream: unserved('no_upstream'),
  SyncFailed: served('sync_failed'),
  LocalizedFollowing: served('localized_following'),
  LocalizedUnverified: served('localized_unverified'),
  PublishingStopped: served('publishing_stopped'),
  ReleaseWithdrawn: served('localized_withdrawn'),
  NothingPublished: served(),
};

async function damageManifest(
  { store }: AdminServer,
  damage: (path: string) => Promise<void>,
): Promise<void> {
  for (const file of globSync('manifests/**/*', { cwd: store.root })) {
    const path = join(store.root, file);
    if (statSync(path).isFile()) await damage(path);
  }
}

/** The reasons whose page belongs to the state that an alert is about. */
const ALERTS: Readonly<Record<string, ServiceReason>> = {
  SlipwayLocalizedNotServed: 'BaseReleaseChanged',
  SlipwayAttestationExpiresSoon: 'AttestationFailing',
  SlipwayDaemonNotAnswering: 'RefreshFailing',
  SlipwayDamageFound: 'EntryDamaged',
  SlipwayServerErrors: 'EntryMissing',
  SlipwaySyncFailing: 'SyncFailed',
  SlipwaySyncLate: 'SyncFailed',
  SlipwayDaemonRestarting: 'CrashLoop',
  SlipwayBackupFailing: 'NothingPublished',
  SlipwayDoctorFailing: 'WorkDatabaseUnusable',
};

/** The state after the daemon of a served release has begun to misbehave. */
async function failLater(server: AdminServer, fault: DaemonFault): Promise<void> {
  await attest(server);
  await untilServed(server);
  server.daemon.setFault(fault);
}

async function untilServed({ url }: AdminServer): Promise<void> {
  await until(async () => (await fetch(`${url}/readyz`)).status === 200);
}

async function healthOf({
  url,
}: Pick<AdminServer, 'url'>): Promise<ReturnType<typeof HealthAnswer.schema.parse>> {
  return HealthAnswer.schema.parse(await (await fetch(`${url}/healthz`)).json());
}

async function stateOf(server: Pick<AdminServer, 'url'>): Promise<ServiceAnswer> {
  const { service } = await healthOf(server);
  if (service === undefined) throw new Error('/healthz has no state');
  return service;
}

/** The severity of a state. The rule of `SlipwayOfficialNotServed` is the same. */
function severityOf({ channels: { official, localized } }: ServiceAnswer): Severity {
  const { state, reason } = official;
  if (state === 'degraded') return 'warning';
  if (state === 'stopping' || (state === 'starting' && ENDS_BY_ITSELF.has(reason))) return 'none';
  if (state !== 'healthy') return 'critical';
  return localized.state === 'healthy' || isCalm('localized', localized.reason) ? 'none' : 'warning';
}

/** Starts a server whose daemon answers every command, in the state of a reason. */
async function startState(reason: ServiceReason, exposeControl = true): Promise<AdminServer> {
  const [nobody] = reason === 'DaemonUnreachable' ? await freePorts(1) : [];
  const server = await startExampleService({
    refresh: true,
    exposeControl,
    config: { cdn: { host: CDN_HOST } },
    ...(nobody === undefined ? {} : { daemonUrl: `http://127.0.0.1:${nobody}` }),
  });
  await STATES[reason](server);
  if (NOT_KEPT.has(reason)) return server;
  await until(async () => {
    const state = await stateOf(server);
    return state.reason === reason || (state.reason === null && state.channels.localized.reason === reason);
  });
  return server;
}

/** Runs a command of a page as the pod does: the address and the token come from the environment, and there is no terminal. */
async function run(
  command: string,
  { url, tokenFile }: Pick<AdminServer, 'url' | 'tokenFile'>,
): Promise<CtlRun> {
  const words = splitWords(command) ?? [];
  return await ctl(words, { env: { SLIPWAY_CTL_URL: url, SLIPWAY_CTL_TOKEN_FILE: tokenFile } });
}

function pageOf(name: string): Runbook {
  const found = RUNBOOKS.find((runbook) => runbook.name === name);
  if (found === undefined) throw new Error(`there is no runbook ${name}`);
  return found;
}

/** The objects of an installation by kind, and the containers of each Deployment. */
function installation(): { readonly names: ReadonlySet<string>; readonly containers: ReadonlySet<string> } {
  const text = readFileSync(join(ROOT, 'manifests/install.yaml'), 'utf8');
  const objects = parseAllDocuments(text).map((each) => each.toJSON() as KubeObject);
  const pods = objects.flatMap(({ metadata, spec }) =>
    [...(spec?.template?.spec?.containers ?? []), ...(spec?.template?.spec?.initContainers ?? [])].map(
      ({ name }: { readonly name: string }) => `${metadata.name}/${name}`,
    ),
  );
  return {
    names: new Set(objects.map(({ kind, metadata }) => `${kind}/${metadata.name}`)),
    containers: new Set(pods),
  };
}

const { names: OBJECTS, containers: CONTAINERS } = installation();

/**
 * What is wrong with a command that no test here can run, because it needs the API server of a cluster. The objects that it names
 * must be those of the installation without Helm, which has the names of the runbooks.
 */
function faultOf(command: string): string | null {
  const words = splitWords(command.replace(/^pod=\$\((.*)\)$/, '$1')) ?? [];
  if (words[0] !== 'kubectl') return 'is no command that this test knows';
  const deployment = words.find((word) => word.startsWith('deploy/'))?.slice('deploy/'.length);
  const container = words.includes('-c') ? words[words.indexOf('-c') + 1] : undefined;
  const lease = words.includes('lease') ? words[words.indexOf('lease') + 1] : undefined;
  const file = words.includes('-f') ? words[words.indexOf('-f') + 1] : undefined;
  if (file === undefined && words.slice(1, 3).join(' ') !== '-n slipway') return 'names no namespace';
  if (deployment !== undefined && !OBJECTS.has(`Deployment/${deployment}`)) return `has no ${deployment}`;
  if (container !== undefined && !CONTAINERS.has(`${deployment}/${container}`)) return `has no ${container}`;
  if (lease !== undefined && !OBJECTS.has(`Lease/${lease}`)) return `has no lease ${lease}`;
  return file === undefined || existsSync(join(ROOT, file)) ? null : `there is no ${file}`;
}

const isCtl = (command: string): boolean =>
  [...IN_POD, ...IN_CHECKOUT].some((prefix) => command.startsWith(`${prefix}slipway ctl `));

/** The part of a command that a shell can run here. */
const localPart = (command: string): string => command.replace(/^kubectl .*? -- (?=node )/, '');

describe('each runbook', () => {
  it.each(RUNBOOKS.map((runbook) => [runbook.name, runbook] as const))(
    '%s has the same commands for a pod and for a checkout, and names only objects of the installation',
    (_name, { commands, inPod, inCheckout }) => {
      expect(commands.length).toBeGreaterThan(0);
      // A rereading of the configuration is an upgrade of the chart.
      expect(inCheckout.filter((each) => !each.startsWith('run reload') && !inPod.includes(each))).toEqual(
        inCheckout.includes('run reload --wait') ? ['run sync --wait'] : [],
      );
      expect(inPod.filter((each) => !inCheckout.includes(each))).toEqual([]);
      const others = commands.filter((each) => !isCtl(each) && !/^(?:date|curl) /.test(each));
      expect(others.map((each) => [each, faultOf(each)])).toEqual(others.map((each) => [each, null]));
    },
  );

  it.each([
    ...Object.keys(STATES).map((reason) => [reason, reason as ServiceReason] as const),
    ...Object.entries(ALERTS),
  ])('%s: its commands work in the state %s, and its severity is that of the state', async (name, reason) => {
    const { inPod, inCheckout, severity } = pageOf(name);
    const server = await startState(reason);
    const isDaemonThere = !['DaemonUnreachable', 'DaemonTimeout', 'RefreshFailing'].includes(reason);
    // A server that never reached its daemon has no release either.
    if (name === reason && reason !== 'DaemonUnreachable' && !NOT_KEPT.has(reason)) {
      expect(severity).toBe(severityOf(await stateOf(server)));
    }
    for (const command of new Set([...inPod, ...inCheckout])) {
      const { code, out, err } = await run(command, server);
      const [verb = '', action = ''] = command.split(' ');
      if (verb === 'status') {
        const { distributable } = (await (await fetch(`${server.url}/readyz`)).json()) as Readyz;
        expect([command, code, err]).toEqual([command, distributable ? 0 : 1, '']);
        if (!NOT_KEPT.has(reason)) expect(out).toContain(reason);
      } else {
        expect(isDaemonThere, `${command} needs the daemon, which does not answer in this state`).toBe(true);
        expect([
          command,
          code,
          verb === 'doctor' ? '' : err.replaceAll(/^.*\b(?:task|queued)\b.*\n/gm, ''),
        ]).toEqual([command, verb === 'doctor' ? expect.toBeOneOf([0, 1]) : 0, '']);
        expect(out).not.toBe('');
      }
      if (verb === 'run') {
        expect(isControlAction(action)).toBe(true);
        expect(server.daemon.requests).toContain(`POST /v1/control/${action}`);
      }
    }
  });

  it('that acts says which setting it needs, and so does the refusal without it', async () => {
    const server = await startState('NothingPublished', false);
    const acting = RUNBOOKS.filter(({ inPod }) => inPod.some((command) => command.startsWith('run ')));
    expect(acting.length).toBeGreaterThan(15);
    for (const { name, inPod } of acting) {
      expect(readFileSync(join(ROOT, `docs/runbooks/${name}.md`), 'utf8')).toContain('`admin.exposeControl`');
      for (const command of inPod.filter((each) => each.startsWith('run '))) {
        const { code, err } = await run(command, server);
        expect([name, code, err]).toEqual([name, 4, expect.stringContaining('exposeControl')]);
      }
    }
  });

  it('has scripts and requests that print what they are for', async () => {
    const folder = await temporaryDirectory();
    await writeFile(join(folder, 'FORMAT'), 'format');
    const program = createServer((_request, response) => response.end('{"warnings":[]}'));
    program.listen(0, '127.0.0.1');
    await once(program, 'listening');
    onTestFinished(() => void program.close());
    const address = `127.0.0.1:${(program.address() as AddressInfo).port}`;
    const scripts = new Set(
      RUNBOOKS.flatMap(({ commands }) => commands.filter((each) => !isCtl(each)).map(localPart)),
    );
    const printed = new Map<string, string>();
    for (const script of [...scripts].filter((each) => /^(?:node|date|curl) /.test(each))) {
      const here = script
        .replaceAll(/127\.0\.0\.1:\d+/g, address)
        .replace('/var/lib/slipway/snapshot/store', folder);
      const { stdout } = await execute('bash', ['-ec', here]);
      printed.set(script, stdout);
    }
    expect([...printed.values()].map((each) => each.replaceAll(/\d\S*/g, '0').trim()).toSorted()).toEqual([
      '0',
      '0',
      '0',
      expect.stringMatching(/UTC/),
      "[ 'FORMAT' ]",
      '{"warnings":[]}',
    ]);
  });

  it('of an alert has the severity of its rule', () => {
    const rules = parse(
      readFileSync(join(ROOT, 'charts/slipway/files/alerts.yaml'), 'utf8'),
    ) as ReadonlyArray<{
      readonly alert: string;
      readonly severity: string;
      readonly page?: string;
    }>;
    const named = rules.filter(({ page }) => page === undefined);
    expect(named.length).toBeGreaterThan(10);
    for (const { alert, severity } of named)
      expect([alert, pageOf(alert).severity]).toEqual([alert, severity]);
  });
});

interface RealService {
  readonly system: TestSystem;
  readonly upstream: string;
  /** Runs a command as {@link run} does. */
  readonly act: (command: string) => Promise<CtlRun>;
}

/** A supervised daemon and a server whose first release was fetched as the runbook NeverSynced says. */
async function startReal(atEnd: AtEnd): Promise<RealService> {
  const upstream = join(await temporaryDirectory(atEnd), 'upstream');
  await writeReleaseTree(upstream, { id: 'r90_one', files: sampleFiles() });
  const tokenFile = await writeTokenFile('canary-runbook-31', atEnd);
  const system = await startSystem({
    upstream: { kind: 'directory', directory: { path: upstream }, maxAttempts: 1 },
    supervised: true,
    daemon: { sync: { onStart: false } },
    server: { admin: { tokenFiles: [tokenFile], exposeControl: true } },
    atEnd,
  });
  const act = async (command: string): Promise<CtlRun> =>
    await run(command, { url: system.serverUrl, tokenFile });
  await untilReason(system, 'NeverSynced');
  for (const command of pageOf('NeverSynced').inPod) expect(await act(command)).toMatchObject({ code: 0 });
  await system.untilReady(true);
  return { system, upstream, act };
}

/** Runs the acts of a page, and waits for what it says that is then fixed. */
async function follow(name: string, { act, system }: RealService): Promise<void> {
  for (const command of pageOf(name).inPod) {
    // No localized release is published here.
    if (command.includes('localized-publish')) continue;
    const { code, out, err } = await act(command);
    expect([command, code, out], err).toEqual([
      command,
      command === 'doctor' ? 1 : 0,
      expect.stringMatching(/\S/),
    ]);
  }
  await untilReason(system, null);
}

/** Waits for the reason of the state; `null`: the service is healthy. */
async function untilReason({ serverUrl }: TestSystem, reason: ServiceReason | null): Promise<void> {
  await until(async () => {
    const state = await stateOf({ url: serverUrl });
    if (state.reason === reason) return true;
    throw new Error(`the reason is ${state.reason}, not ${reason}: ${state.message}`);
  });
}

describe('the remedy of a runbook, on a real service,', () => {
  const reused = reusedFixture(startReal);

  it.each([
    ['EntryMissing', rm],
    ['EntryDamaged', async (path: string) => await flipBit(path, 3)],
  ] as const)('ends %s', async (reason, damage) => {
    const service = await reused();
    const { system } = service;
    const object = globSync('objects/*/*', { cwd: system.snapshotRoot })
      .map((path) => join(system.snapshotRoot, path))
      .find((path) => !path.endsWith('.blocks') && statSync(path).size > 3);
    await damage(object ?? '');
    expect(await service.act('run verify --wait')).toMatchObject({ code: 1 });
    await untilReason(system, reason);
    await follow(reason, service);
  });

  it('ends SyncFailed when the upstream is back', async () => {
    const service = await reused();
    await rename(service.upstream, `${service.upstream}-gone`);
    expect(await service.act('run sync --wait')).toMatchObject({ code: 1 });
    await untilReason(service.system, 'SyncFailed');
    expect((await service.act('tasks --status failed')).out).toMatch(/sync +failed/);
    await rename(`${service.upstream}-gone`, service.upstream);
    await follow('SyncFailed', service);
  });

  it('succeeds as written for each other act', async () => {
    const { act, system } = await reused();
    const acts = new Set(RUNBOOKS.flatMap(({ inPod, inCheckout }) => [...inPod, ...inCheckout]));
    const others = [...acts].filter((each) => each.startsWith('run ') && !each.includes('localized-publish'));
    expect(others.length).toBeGreaterThan(7);
    // The restart is the last one: the others need the daemon.
    for (const command of others.toSorted((left) => (left.startsWith('run restart') ? 1 : -1))) {
      const { code, err } = await act(command);
      expect([command, code, err]).toEqual([command, 0, err]);
    }
    await until(() => system.daemon.lines.filter((line) => line.includes('"daemon listening"')).length > 1);
    await until(async () => (await act('doctor')).code === 0);
    await untilReason(system, null);
  });

  it('names only checks that the doctor has', async () => {
    const { act } = await reused();
    // It has none while it restarts.
    const checks = await until(async () => {
      const { out } = await act('doctor -o json');
      const found = new Set([...out.matchAll(/"id":\s*"([^"]+)"/g)].map(([, id]) => id));
      return found.has('database.main') && found;
    });
    const named = globSync('docs/runbooks/*.md', { cwd: ROOT }).flatMap((file) =>
      [
        ...readFileSync(join(ROOT, file), 'utf8').matchAll(/\bchecks? ((?:`[a-z.]+`(?:, | and | or )?)+)/gi),
      ].flatMap(([, list = '']) => [...list.matchAll(/`([a-z.]+)`/g)].map(([, id]) => id)),
    );
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((id) => !checks.has(id))).toEqual([]);
  });
});
