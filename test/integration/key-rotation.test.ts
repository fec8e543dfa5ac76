import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { mountSecret, type MountedSecret } from '../support/kubernetes-secret.ts';
import { makeKeys } from '../support/make-keys.ts';
import { sampleFiles, writeReleaseTree } from '../support/release-tree.ts';
import { startSystem, type TestSystem } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { until } from '../support/until.ts';

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
  readonly first: KeyPair;
  readonly signing: MountedSecret;
  readonly trusted: MountedSecret;
  /** Answers other than 200 of the routes that were asked all the time since the start. */
  stopAsking(): Promise<{ readonly asked: number; readonly refused: readonly string[] }>;
}

async function mountedSystem(): Promise<MountedSystem> {
  const upstream = await temporaryDirectory();
  const files = sampleFiles();
  await writeReleaseTree(upstream, { id: 'r1', files });
  const first = await newKeys();
  const signing = await mountSecret(await temporaryDirectory(), { 'signing.key': first.privateKey });
  const trusted = await mountSecret(await temporaryDirectory(), { 'signing.pub': first.publicKey });
  const system = await startSystem({
    upstream: { kind: 'directory', directory: { path: upstream } },
    daemon: { attestation: { signingKeyFiles: [signing.path('signing.key')] } },
    server: { attestation: { publicKeyFiles: [trusted.path('signing.pub')] } },
  });
  await system.untilReady(true);
  const [destination = ''] = files.keys();
  const asking = askSteadily([`${system.serverUrl}/readyz`, system.cdn(destination)]);
  onTestFinished(async () => void (await asking.stop()));
  return { ...system, first, signing, trusted, stopAsking: asking.stop };
}

function askSteadily(urls: readonly string[]): { readonly stop: MountedSystem['stopAsking'] } {
  const stopping = new AbortController();
  let asked = 0;
  const refused: string[] = [];
  const loops = urls.map(async (url) => {
    while (!stopping.signal.aborted) {
      try {
        const answer = await fetch(url);
        await answer.arrayBuffer();
        if (answer.status !== 200) refused.push(`${url}: ${answer.status}`);
      } catch (error) {
        refused.push(`${url}: ${String(error)}`);
      }
      asked += 1;
    }
  });
  return {
    stop: async () => {
      stopping.abort();
      await Promise.all(loops);
      return { asked, refused };
    },
  };
}

async function versionOf({ serverUrl }: TestSystem): Promise<number> {
  const answer = await fetch(`${serverUrl}/readyz`);
  return ((await answer.json()) as { attestation: { version: number } }).attestation.version;
}

async function untilLogged(program: { readonly lines: readonly string[] }, text: string): Promise<void> {
  await until(() => Promise.resolve(program.lines.some((line) => line.includes(text)) ? true : null));
}

describe('a signing key in a mounted Secret', () => {
  it('is rotated by changes of the Secret alone, and no request is lost', async () => {
    const system = await mountedSystem();
    const next = await newKeys();

    // 1. The servers trust both keys.
    await system.trusted.write({ 'signing.pub': `${system.first.publicKey}${next.publicKey}` });
    await untilLogged(system.server, 'the trusted public keys have changed');
    // 2. The daemon signs with the new one.
    const before = await versionOf(system);
    await system.signing.write({ 'signing.key': next.privateKey });
    await untilLogged(system.daemon, 'the signing keys have changed');
    await until(async () => ((await versionOf(system)) > before ? true : null));
    // 3. The servers trust only the new one.
    const lines = system.server.lines.length;
    await system.trusted.write({ 'signing.pub': next.publicKey });
    await until(() =>
      Promise.resolve(
        system.server.lines.slice(lines).some((line) => line.includes('the trusted public keys have changed'))
          ? true
          : null,
      ),
    );
    await system.succeed('refresh');
    await system.untilReady(true);

    const { asked, refused } = await system.stopAsking();
    expect(refused).toEqual([]);
    expect(asked).toBeGreaterThan(100);
  });

  it('that is replaced in one step is an outage of seconds', async () => {
    const system = await mountedSystem();
    const next = await newKeys();
    await system.trusted.write({ 'signing.pub': next.publicKey });
    await system.untilReady(false);
    await system.signing.write({ 'signing.key': next.privateKey });
    await system.untilReady(true);
  });

  it('that is broken leaves the old one signing; the doctor and the log say so', async () => {
    const system = await mountedSystem();
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
    await until(async () => ((await versionOf(system)) > before ? true : null));
    await system.signing.write({ 'signing.key': system.first.privateKey });
    await untilLogged(system.daemon, 'the signing keys are readable again');
    expect(await check()).toMatchObject({ status: 'ok' });
    expect((await system.stopAsking()).refused).toEqual([]);
  });
});
