import { expect, it, onTestFinished } from 'vitest';
import { createRandom } from '../../demo/game/seeded-random.ts';
import { SMALL } from '../support/byte-path.ts';
import { runKeepAliveClient, type ClientCounts } from '../support/keep-alive-client.ts';
import { campaignSize } from '../support/long.ts';
import { startServedProcess, type ServedProcess } from '../support/served-process.ts';
import { startTcpBalancer } from '../support/tcp-balancer.ts';
import { until } from '../support/until.ts';

const REQUESTS = campaignSize(8000, 50_000);
const CLIENTS = 24;
const UPGRADES = campaignSize(2, 3);
const random = createRandom(28);
const body = random.bytes(3000);

async function start(): Promise<ServedProcess> {
  return await startServedProcess({
    fastPath: true,
    release: { releaseId: 'r1', files: { [SMALL]: body } },
    config: { shutdown: { propagationDelaySeconds: 3, drainSeconds: 60 } },
  });
}

it(`keep-alive clients lose none of ${REQUESTS} requests in ${UPGRADES} upgrades, and leave a server that ends`, async () => {
  let current = await start();
  const balancer = await startTcpBalancer(onTestFinished);
  balancer.setTargets([current.port]);
  const counts: ClientCounts = { requests: 0, lost: [], connections: 0, goodbyes: 0 };
  let upgraded = false;
  // Two clients send without a pause, and others pause for up to a third of the propagation delay.
  const clients = Array.from({ length: CLIENTS }, async (_none, number) => {
    await runKeepAliveClient({
      port: balancer.port,
      target: current.target(SMALL),
      body,
      think: () => (number < 2 ? 0 : random.below(number % 2 === 0 ? 20 : 1000)),
      wantsMore: () => !upgraded || counts.requests < REQUESTS,
      counts,
    });
  });
  for (let upgrade = 0; upgrade < UPGRADES; upgrade += 1) {
    const before = counts.requests;
    const next = await start();
    await until(() => counts.requests > before + REQUESTS / (UPGRADES * 4));
    balancer.setTargets([current.port, next.port]);
    current.process.signal('SIGTERM');
    // The endpoint goes when the server is not ready, as in Kubernetes.
    await until(async () => (await fetch(`${current.url}/readyz`)).status === 503);
    balancer.setTargets([next.port]);
    expect(await current.process.exited).toBe(0);
    current = next;
  }
  upgraded = true;
  await Promise.all(clients);
  expect(counts.lost).toEqual([]);
  expect(counts.requests).toBeGreaterThanOrEqual(REQUESTS);
  expect(counts.goodbyes).toBeGreaterThanOrEqual(CLIENTS);
});
