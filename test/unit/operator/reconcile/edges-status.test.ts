import { describe, expect, it } from 'vitest';
import { HealthAnswer } from '../../../../src/contract/schemas/answers/health.ts';
import type { PodEvidence } from '../../../../src/operator/pods/evidence-book.ts';
import { edgesRow } from '../../../../src/operator/reconcile/edges-status.ts';

/** An edge that answers with this release; `null` for none, `undefined` for no answer. */
function edge(name: string, release: string | null | undefined, distributable = true): PodEvidence {
  const pod = { name, origin: `http://${name}`, endpoint: 'ready' } as const;
  if (release === undefined) return { ...pod, health: null, failure: 'connection refused' };
  const health = structuredClone(HealthAnswer.schema.parse(HealthAnswer.example));
  health.verdicts.official = { ...health.verdicts.official, release_id: release, distributable };
  return { ...pod, health, failure: null };
}

const row = (...asked: readonly PodEvidence[]): ReturnType<typeof edgesRow> =>
  edgesRow({ count: asked.length, ready: asked.length, asked }, 'official', 'r3', ['r3', 'r2', 'r1']);

describe('the edges of a status', () => {
  it('name no slowest one when all serve the release of the origin', () => {
    expect(row(edge('a', 'r3'), edge('b', 'r3'))).toEqual({
      count: 2,
      ready: 2,
      atRelease: 2,
      summary: '2/2',
      releases: [{ release: 'r3', count: 2 }],
    });
    expect(row()).toEqual({ count: 0, ready: 0, atRelease: 0, summary: '0/0' });
  });

  it.each([
    [
      'one that is further back in the history',
      [edge('a', 'r2'), edge('b', 'r1')],
      { name: 'b', release: 'r1' },
    ],
    ['a release that the history has lost', [edge('a', 'r1'), edge('b', 'r0')], { name: 'b', release: 'r0' }],
    ['one without a release', [edge('a', 'r0'), edge('b', null)], { name: 'b' }],
    ['one that does not answer', [edge('a', 'r1'), edge('b', undefined)], { name: 'b' }],
    ['the first by name among equals', [edge('a', 'r2'), edge('b', 'r2')], { name: 'a', release: 'r2' }],
    [
      'one that cannot serve the release',
      [edge('a', 'r3'), edge('b', 'r3', false)],
      { name: 'b', release: 'r3' },
    ],
  ] as const)('name as the slowest %s', (_, edges, slowest) => {
    expect(row(...edges)).toMatchObject({ slowest });
  });

  it('count all, also those that are not asked', () => {
    const found = edgesRow({ count: 300, ready: 299, asked: [edge('a', 'r3')] }, 'official', 'r3', []);
    expect(found).toEqual({
      count: 300,
      ready: 299,
      atRelease: 1,
      summary: '1/300',
      releases: [{ release: 'r3', count: 1 }],
    });
  });

  it('are counted by release, the newest first, those that the history has lost last', () => {
    const edges = [
      edge('a', 'x'),
      edge('b', 'r1'),
      edge('c', null),
      edge('d', 'r3'),
      edge('e', 'r1'),
      edge('f', undefined),
    ];
    expect(row(...edges, edge('g', 'r3', false)).releases).toEqual([
      { release: 'r3', count: 2 },
      { release: 'r1', count: 2 },
      { release: 'x', count: 1 },
    ]);
    const many = Array.from({ length: 12 }, (_, at) =>
      edge(`e${at}`, `other-${String(at).padStart(2, '0')}`),
    );
    const { releases = [] } = row(...many, edge('z', 'r2'));
    expect(releases.map(({ release }) => release)).toEqual([
      'r2',
      ...Array.from({ length: 9 }, (_, at) => `other-0${at}`),
    ]);
  });

  it('are at no release while the origin has none', () => {
    const found = edgesRow({ count: 1, ready: 1, asked: [edge('a', 'r3')] }, 'official', undefined, []);
    expect(found).toMatchObject({ atRelease: 0, slowest: { name: 'a', release: 'r3' } });
  });
});
