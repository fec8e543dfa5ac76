import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Channel } from '../../src/domain/release/channel.ts';
import { createHttpClient, type BoundedAnswer } from '../../src/platform/http/http-client.ts';
import { blake3Hex } from '../../src/platform/hashing/blake3.ts';
import { startOrigin, untilServed, type OriginWithEdges } from '../support/edge.ts';
import { startOriginProxy } from '../support/origin-proxy.ts';
import { sampleFiles, type ReleaseFiles } from '../support/release-tree.ts';
import { CDN_HOST, type TestSystem } from '../support/system.ts';
import { startTcpBalancer } from '../support/tcp-balancer.ts';
import { until, WAIT_MS } from '../support/until.ts';

const EXCEL = 'TableBundles/Excel.zip';
const FIRST = sampleFiles();
const SECOND: ReleaseFiles = new Map([...FIRST, [EXCEL, Buffer.from('new excel')]]);
const THIRD: ReleaseFiles = new Map([...FIRST, [EXCEL, Buffer.from('newest excel')]]);
/** A file of each release. The localized ones replace that of their base. */
const EXPECTED: Readonly<Record<string, Buffer | undefined>> = {
  r1: FIRST.get(EXCEL),
  r2: SECOND.get(EXCEL),
  r3: THIRD.get(EXCEL),
  'r1-l1': Buffer.from('translated once'),
  'r1-l2': Buffer.from('translated twice'),
  'r2-l1': Buffer.from('translated for the new one'),
};

/** Makes a localized release at the origin, whose only other file is {@link EXCEL}. */
async function publishLocalized({ origin }: OriginWithEdges, id: string): Promise<void> {
  const bytes = EXPECTED[id] ?? Buffer.alloc(0);
  const exchange = join(origin.directory, 'data', 'exchange');
  await mkdir(exchange, { recursive: true });
  await writeFile(join(exchange, 'patched'), bytes);
  const entry = { destination: EXCEL, file: 'patched', blake3: blake3Hex(bytes), size: bytes.length };
  const manifest = { base_release_id: id.split('-')[0], entries: [entry] };
  await writeFile(join(exchange, 'patches.json'), JSON.stringify(manifest));
  const body = { patch_manifest: 'patches.json', localized_release_id: id, reviewer: 'Rin' };
  await origin.succeed('localized-publish', body);
}

/** The releases and errors that clients of an address saw. */
interface Seen {
  /** How often a release was named, by its id. */
  readonly named: Map<string, number>;
  /** Answers that no client may get, each once. */
  readonly wrong: Set<string>;
  /** Answers that the localized channel has no release. */
  withoutLocalized: number;
}

/** The rest of the processor is for the edges. */
const BETWEEN_VISITS_MS = 20;

/** Lets clients ask an address until the returned function is called. Each request has a connection of its own. */
function startClients(url: string): { readonly seen: Seen; readonly stop: () => Promise<void> } {
  const client = createHttpClient({ connections: 16, keepAlive: false });
  const seen: Seen = { named: new Map(), wrong: new Set(), withoutLocalized: 0 };
  const stopping = new AbortController();
  const ask = async (path: string): Promise<BoundedAnswer> =>
    await client.send({ url: `${url}${path}`, timeoutMs: WAIT_MS, maxBytes: 1_000_000 });

  /** Learns of the release of a channel at one server, and reads the file at the next ones. */
  const visit = async (channel: Channel): Promise<void> => {
    const answer = await ask(
      channel === 'official' ? '/v1/bootstrap' : '/v1/distribution?channel=localized&limit=1',
    );
    if (channel === 'localized' && answer.status === 409) {
      seen.withoutLocalized += 1;
      return;
    }
    if (answer.status !== 200) {
      seen.wrong.add(`${channel}: ${answer.status}`);
      return;
    }
    const body = JSON.parse(answer.body.toString()) as { release: { release_id: string } };
    const { release_id: id } = body.release;
    seen.named.set(id, (seen.named.get(id) ?? 0) + 1);
    for (const file of await Promise.all([1, 2].map(async () => await ask(`/${CDN_HOST}/${id}/${EXCEL}`)))) {
      if (file.status !== 200) seen.wrong.add(`${id}: ${file.status}`);
      else if (EXPECTED[id]?.equals(file.body) !== true) seen.wrong.add(`${id}: other bytes`);
    }
  };
  const run = async (): Promise<void> => {
    for (let turn = 0; !stopping.signal.aborted; turn += 1) {
      await visit(turn % 2 === 0 ? 'official' : 'localized').catch((error: unknown) => {
        seen.wrong.add(String(error));
      });
      // The balancer takes turns. With an even number of connections the same edge would always be asked for the release.
      if (turn % 4 === 3) await ask('/livez').catch(() => undefined);
      await delay(BETWEEN_VISITS_MS);
    }
  };
  const running = run();
  return {
    seen,
    stop: async () => {
      stopping.abort();
      await running;
      client.close();
    },
  };
}

interface Health {
  readonly announced: Readonly<Record<Channel, { readonly release_id: string } | null>>;
  readonly verdicts: Readonly<Record<Channel, { readonly release_id: string | null }>>;
}

async function health({ serverUrl }: TestSystem): Promise<Health> {
  return (await (await fetch(`${serverUrl}/healthz`)).json()) as Health;
}

async function untilWhole(system: TestSystem, channel: Channel, id: string): Promise<void> {
  await until(async () => (await health(system)).announced[channel]?.release_id === id);
}

async function untilCurrent(systems: readonly TestSystem[], channel: Channel, id: string): Promise<void> {
  for (const system of systems)
    await until(async () => (await health(system)).verdicts[channel].release_id === id);
}

describe('a client of two edges behind one address', () => {
  it('gets every byte of what it learned of, through switches of both channels', async () => {
    const world = await startOrigin(
      { id: 'r1', files: FIRST },
      // No switch comes before both edges are whole: it is brought forward then.
      { releases: { announceSeconds: 3600, switchLeadSeconds: 4 } },
    );
    const slowWay = await startOriginProxy(world.origin.serverUrl, onTestFinished);
    const [fast, slow] = await Promise.all([
      world.startEdge(),
      world.startEdge({ slipway: { url: slowWay.url } }),
    ]);
    await publishLocalized(world, 'r1-l1');
    const edges = [fast, slow];
    for (const edge of edges) await untilServed(edge, 'r1');
    await untilCurrent(edges, 'localized', 'r1-l1');
    const balancer = await startTcpBalancer(onTestFinished);
    balancer.setTargets(edges.map(({ serverUrl }) => Number(new URL(serverUrl).port)));
    const url = `http://127.0.0.1:${balancer.port}`;
    const { seen, stop } = startClients(url);

    const visits = (): number => [...seen.named.values()].reduce((sum, count) => sum + count, 0);
    /** Publishes while the slow edge is cut off, and switches once that has the release, too. */
    const switchTo = async (channel: Channel, id: string, publish: () => Promise<void>): Promise<void> => {
      slowWay.isDown = true;
      await publish();
      await untilWhole(fast, channel, id);
      const before = visits();
      await until(() => visits() > before + 10);
      expect(seen.named.has(id)).toBe(false);
      expect((await health(slow)).announced[channel]).toBeNull();
      slowWay.isDown = false;
      await untilWhole(slow, channel, id);
      const early = await world.origin.run('refresh', { args: [`current=${id}`] });
      expect(early.result).toMatchObject({ brought_forward: true });
      await untilCurrent([world.origin, ...edges], channel, id);
      await until(() => (seen.named.get(id) ?? 0) > 10);
    };
    await switchTo('localized', 'r1-l2', async () => {
      await publishLocalized(world, 'r1-l2');
    });
    expect(seen.withoutLocalized).toBe(0);
    await switchTo('official', 'r2', async () => {
      await world.offer('r2', SECOND);
      await world.origin.succeed('sync');
    });
    await switchTo('localized', 'r2-l1', async () => {
      await publishLocalized(world, 'r2-l1');
    });
    await stop();
    expect([...seen.wrong]).toEqual([]);
    expect([...seen.named.keys()].sort()).toEqual(['r1', 'r1-l1', 'r1-l2', 'r2', 'r2-l1']);

    // A switch that waits for nobody shows what the clients would have seen.
    slowWay.isDown = true;
    await world.offer('r3', THIRD);
    await world.origin.succeed('sync');
    await untilWhole(fast, 'official', 'r3');
    const others = startClients(url);
    await world.origin.run('refresh', { args: ['current=r3'] });
    await until(() => others.seen.wrong.size > 0);
    await others.stop();
    expect([...others.seen.wrong]).toEqual(['r3: 404']);
  });
});
