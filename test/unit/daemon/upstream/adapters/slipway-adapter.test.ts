import { describe, expect, it } from 'vitest';
import { startSeeing, type SeeingServer } from '../../../../support/fake-registry.ts';
import { adapterFor, freeSignal } from '../upstream-harness.ts';

/** An origin that has reached the limit of a token for its first requests. */
async function startBusy(refusals: number, headers: Readonly<Record<string, string>>): Promise<SeeingServer> {
  let left = refusals;
  return await startSeeing((_request, response) => {
    left -= 1;
    if (left >= 0) response.writeHead(429, headers).end();
    else response.end(JSON.stringify({ attestation: null, cdn_host: 'cdn.test.invalid' }));
  });
}

const looked = async ({ url }: SeeingServer): Promise<string> => {
  const slipway = { url, trustedKeys: ['unused.pub'] };
  const { attested } = adapterFor({ kind: 'slipway', slipway, maxAttempts: 3 });
  const found = attested?.source.current(null, freeSignal()) ?? Promise.resolve();
  return await found.then(
    () => 'an attestation',
    (error: unknown) => (error as { code: string }).code,
  );
};

describe('an edge', () => {
  it('waits as long as its origin says, and asks the same again', async () => {
    const origin = await startBusy(2, { 'retry-after': '0' });
    // The answer that came at last has no attestation.
    expect(await looked(origin)).toBe('origin_unattested');
    expect(origin.seen.map(({ line }) => line)).toEqual(Array.from({ length: 3 }, () => 'GET /v1/release'));
  });

  it('gives up after as many attempts as are configured', async () => {
    const origin = await startBusy(10, { 'retry-after': '0' });
    expect(await looked(origin)).toBe('upstream_throttled');
    expect(origin.seen).toHaveLength(3);
  });

  it('does not repeat what the origin says nothing about', async () => {
    const origin = await startBusy(10, {});
    expect(await looked(origin)).toBe('upstream_throttled');
    expect(origin.seen).toHaveLength(1);
  });

  it('stops waiting when its task is cancelled', async () => {
    const origin = await startBusy(10, { 'retry-after': '300' });
    const stop = new AbortController();
    const { attested } = adapterFor({
      kind: 'slipway',
      slipway: { url: origin.url, trustedKeys: ['unused.pub'] },
    });
    const looking = attested?.source.current(null, stop.signal) ?? Promise.resolve();
    setTimeout(() => {
      stop.abort(new Error('cancelled'));
    }, 50);
    await expect(looking).rejects.toThrow('cancelled');
  });
});
