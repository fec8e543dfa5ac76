import { describe, expect, it } from 'vitest';
import type { UpstreamAdapterOptions } from '../../../../../src/daemon/upstream/adapters/create-upstream-adapter.ts';
import type { AttestedUpstream } from '../../../../../src/daemon/upstream/attested/attested-upstream.ts';
import { systemClock, type Clock } from '../../../../../src/platform/process/clock.ts';
import { sampleRelease } from '../../../../support/attestations.ts';
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

/** Creates the upstream of an edge that tries requests three times. */
function upstreamOf({ url }: SeeingServer, deps: Partial<UpstreamAdapterOptions> = {}): AttestedUpstream {
  const slipway = { url, trustedKeys: ['unused.pub'] };
  const { attested } = adapterFor(
    { kind: 'slipway', slipway, maxAttempts: 3, backoffBaseMs: 100, backoffCapMs: 1000 },
    deps,
  );
  if (attested === undefined) throw new Error('an edge follows attestations');
  return attested;
}

const codeOf = async (asked: Promise<unknown>): Promise<string> =>
  await asked.then(
    () => 'an answer',
    (error: unknown) => (error as { code: string }).code,
  );

const WANTED = { channel: 'official', attested: sampleRelease('r1', 'a') } as const;

const readManifest = async (origin: SeeingServer, deps?: Partial<UpstreamAdapterOptions>): Promise<string> =>
  await codeOf(upstreamOf(origin, deps).source.manifest(WANTED, freeSignal()));

describe('an edge', () => {
  it('waits as long as its origin says, and asks the same again', async () => {
    const origin = await startBusy(2, { 'retry-after': '0' });
    // The last answer is not a page.
    expect(await readManifest(origin)).toBe('origin_malformed');
    expect(new Set(origin.seen.map(({ line }) => line)).size).toBe(1);
    expect(origin.seen).toHaveLength(3);
  });

  it('never asks sooner than its origin says, and not together with other edges', async () => {
    const waits = async (retryAfter: string, random: number): Promise<readonly number[]> => {
      const slept: number[] = [];
      const sleep: Clock['sleep'] = async (ms) => {
        slept.push(ms);
        await Promise.resolve();
      };
      const origin = await startBusy(10, { 'retry-after': retryAfter });
      await readManifest(origin, { clock: { ...systemClock, sleep }, random: () => random });
      return slept;
    };
    expect(await waits('2', 0)).toEqual([2050, 2100]);
    expect(await waits('2', 0.5)).toEqual([2075, 2150]);
    expect(await waits('0', 0)).toEqual([50, 100]);
  });

  it('tells who reads a manifest that its origin asks to wait', async () => {
    const origin = await startBusy(1, { 'retry-after': '20' });
    const noted: unknown[] = [];
    const sleep: Clock['sleep'] = async () => {
      await Promise.resolve();
    };
    const { source } = upstreamOf(origin, { clock: { ...systemClock, sleep }, random: () => 0 });
    const reading = source.manifest(WANTED, freeSignal(), (why, ms) => noted.push([why, ms]));
    expect(await codeOf(reading)).toBe('origin_malformed');
    expect(noted).toEqual([[expect.stringMatching(/asks to retry later \(status 429\)$/), 20_050]]);
  });

  it('does not repeat a look at its origin: who follows it decides when the next one is', async () => {
    const origin = await startBusy(10, { 'retry-after': '300' });
    const { source } = upstreamOf(origin);
    await expect(source.current(null, freeSignal())).rejects.toMatchObject({
      code: 'upstream_throttled',
      retryAfterMs: 300_000,
    });
    expect(origin.seen).toHaveLength(1);
  });

  it('gives up after as many attempts as are configured', async () => {
    const origin = await startBusy(10, { 'retry-after': '0' });
    expect(await readManifest(origin)).toBe('upstream_throttled');
    expect(origin.seen).toHaveLength(3);
  });

  it('does not repeat what the origin says nothing about', async () => {
    const origin = await startBusy(10, {});
    expect(await readManifest(origin)).toBe('upstream_throttled');
    expect(origin.seen).toHaveLength(1);
  });

  it('stops waiting when its task is cancelled', async () => {
    const origin = await startBusy(10, { 'retry-after': '300' });
    const stop = new AbortController();
    const reading = upstreamOf(origin).source.manifest(WANTED, stop.signal);
    setTimeout(() => {
      stop.abort(new Error('cancelled'));
    }, 50);
    await expect(reading).rejects.toThrow('cancelled');
  });
});
