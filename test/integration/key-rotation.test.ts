import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { mountSecret, type MountedSecret } from '../support/kubernetes-secret.ts';
import { makeKeys } from '../support/make-keys.ts';
import { sampleFiles, writeReleaseTree } from '../support/release-tree.ts';
import { reusedFixture, type AtEnd } from '../support/shared-fixture.ts';
import { startSystem, type TestSystem, WITHOUT_TEXTS } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { until } from '../support/until.ts';

/** Between two requests, so that the processor is left to the programs. */
const PAUSE_MS = 5;

interface KeyPair {
  readonly privateKey: string;
  readonly publicKey: string;
}

async function newKeys(): Promise<KeyPair> {
  const directory = join(await temporaryDirectory(), 'keys');
  await makeKeys(directory);
  const [privateKey, publicKey] = await Promise.all(
    ['signing.key', 'signing.pub'].map(async (name) => await readFile(join(directory, name), 'utf8')),
  );
  return { privateKey: privateKey ?? '', publicKey: publicKey ?? '' };
}

/** A served release whose keys are mounted from Secrets, one volume for each container. */
interface MountedSystem extends TestSystem {
  readonly signing: MountedSecret;
  readonly trusted: MountedSecret;
  /** The only key pair that is in use; a test that replaces it sets it. */
  current: KeyPair;
}

async function mountedSystem(atEnd: AtEnd): Promise<MountedSystem> {
  const upstream = await temporaryDirectory(atEnd);
  await writeReleaseTree(upstream, { id: 'r1', files: sampleFiles() });
  const current = await newKeys();
  const signing = await mountSecret(await temporaryDirectory(atEnd), { 'signing.key': current.privateKey });
  const trusted = await mountSecret(await temporaryDirectory(atEnd), { 'signing.pub': current.publicKey });
  const system = await startSystem({
    upstream: { kind: 'directory', directory: { path: upstream } },
    daemon: { ...WITHOUT_TEXTS, attestation: { signingKeyFiles: [signing.path('signing.key')] } },
    server: { attestation: { publicKeyFiles: [trusted.path('signing.pub')] } },
    atEnd,
  });
  await system.untilReady(true);
  return { ...system, signing, trusted, current };
}

/** Asks for the readiness and a file all the time. `stop` returns the answers other than 200, once there were many. */
function askSteadily(system: TestSystem): { stop(): Promise<readonly string[]> } {
  const stopping = new AbortController();
  onTestFinished(() => stopping.abort());
  let asked = 0;
  const refused: string[] = [];
  const [destination = ''] = sampleFiles().keys();
  const loops = [`${system.serverUrl}/readyz`, system.cdn(destination)].map(async (url) => {
    while (!stopping.signal.aborted) {
      try {
        const answer = await fetch(url);
        await answer.arrayBuffer();
        if (answer.status !== 200) refused.push(`${url}: ${answer.status}`);
      } catch (error) {
        refused.push(`${url}: ${String(error)}`);
      }
      asked += 1;
      await delay(PAUSE_MS);
    }
  });
  return {
    stop: async () => {
      await until(() => asked > 100);
      stopping.abort();
      await Promise.all(loops);
      return refused;
    },
  };
}

async function versionOf({ serverUrl }: TestSystem): Promise<number> {
  const answer = await fetch(`${serverUrl}/readyz`);
  return ((await answer.json()) as { attestation: { version: number } }).attestation.version;
}

/** Waits for a line behind those that were seen before. */
async function untilLogged(
  program: { readonly lines: readonly string[] },
  text: string,
  seen = 0,
): Promise<void> {
  await until(() => program.lines.slice(seen).some((line) => line.includes(text)));
}

describe('a signing key in a mounted Secret', () => {
  const mounted = reusedFixture(mountedSystem);

  it('is rotated by changes of the Secret alone, and no request is lost', async () => {
    const system = await mounted();
    const next = await newKeys();
    const asking = askSteadily(system);
    const trust = async (keys: string): Promise<void> => {
      const seen = system.server.lines.length;
      await system.trusted.write({ 'signing.pub': keys });
      await untilLogged(system.server, 'the trusted public keys have changed', seen);
    };

    // 1. The servers trust both keys.
    await trust(`${system.current.publicKey}${next.publicKey}`);
    // 2. The daemon signs with the new one.
    const before = await versionOf(system);
    await system.signing.write({ 'signing.key': next.privateKey });
    await untilLogged(system.daemon, 'the signing keys have changed');
    await until(async () => (await versionOf(system)) > before);
    // 3. The servers trust only the new one.
    await trust(next.publicKey);
    await system.succeed('refresh');
    await system.untilReady(true);
    expect(await asking.stop()).toEqual([]);
    system.current = next;
  });

  it('that is replaced in one step is an outage of seconds', async () => {
    const system = await mounted();
    const next = await newKeys();
    await system.trusted.write({ 'signing.pub': next.publicKey });
    await system.untilReady(false);
    await system.signing.write({ 'signing.key': next.privateKey });
    await system.untilReady(true);
    system.current = next;
  });

  it('that is broken leaves the old one signing; the doctor and the log say so', async () => {
    const system = await mounted();
    const asking = askSteadily(system);
    const check = async () => {
      const answer = await system.askDaemon('/v1/reports/daemon.doctor');
      const { checks } = (await answer.json()) as {
        checks: ReadonlyArray<{ readonly id: string; readonly status: string; readonly message: string }>;
      };
      return checks.find(({ id }) => id === 'signing.keys');
    };
    expect(await check()).toMatchObject({ status: 'ok' });
    await system.signing.write({ 'signing.key': 'half a k' });
    await untilLogged(system.daemon, 'the signing keys cannot be read again; the previous ones keep signing');
    expect(await check()).toMatchObject({
      status: 'degraded',
      message: expect.stringContaining('holds no PEM block') as string,
    });
    const before = await versionOf(system);
    await system.succeed('refresh');
    await until(async () => (await versionOf(system)) > before);
    await system.signing.write({ 'signing.key': system.current.privateKey });
    await untilLogged(system.daemon, 'the signing keys are readable again');
    expect(await check()).toMatchObject({ status: 'ok' });
    expect(await asking.stop()).toEqual([]);
  });
});
