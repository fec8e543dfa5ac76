import { assert, integer, property, stringMatching } from 'fast-check';
import { expect, test } from 'vitest';
import {
  chooseReleaseName,
  type NameHolder,
} from '../../../../../src/daemon/releases/records/release-name.ts';
import { parseReleaseId, type ReleaseId } from '../../../../../src/domain/release/release-id.ts';

const id = (text: string): ReleaseId => text as ReleaseId;
const holder = (contentDigest: string | null, change: Partial<NameHolder> = {}): NameHolder => ({
  contentDigest,
  wasPublishable: true,
  channel: 'official',
  ...change,
});

test('a free name is used unchanged', () => {
  expect(chooseReleaseName(id('1.66'), 'a', () => null)).toEqual({ releaseId: '1.66', existing: false });
});

test('other content under a used name gets a suffix, the same content gets its name again', () => {
  const names = new Map([
    ['1.66', holder('a')],
    ['1.66-2', holder('b')],
  ]);
  const choose = (digest: string): unknown =>
    chooseReleaseName(id('1.66'), digest, (name) => names.get(name) ?? null);
  expect(choose('a')).toEqual({ releaseId: '1.66', existing: true });
  expect(choose('b')).toEqual({ releaseId: '1.66-2', existing: true });
  expect(choose('c')).toEqual({ releaseId: '1.66-3', existing: false });
});

test('a name that was never published is used again, one of a localized release never', () => {
  expect(chooseReleaseName(id('1'), 'b', () => holder('a', { wasPublishable: false }))).toEqual({
    releaseId: '1',
    existing: false,
  });
  const localized = (name: string): NameHolder | null =>
    name === '1' ? holder('b', { channel: 'localized', wasPublishable: false }) : null;
  expect(chooseReleaseName(id('1'), 'b', localized)).toEqual({ releaseId: '1-2', existing: false });
});

test('gives up instead of searching without end', () => {
  expect(chooseReleaseName(id('1'), 'b', () => holder('a'))).toBeNull();
});

test('every name is a free release id, however long the upstream name', () => {
  const names = stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,126}[A-Za-z0-9]$/);
  assert(
    property(names, integer({ min: 0, max: 50 }), (upstream, taken) => {
      const used = new Set<string>();
      for (let i = 0; i <= taken; i += 1) {
        const choice = chooseReleaseName(id(upstream), `content ${i}`, (name) =>
          used.has(name) ? holder('other') : null,
        );
        expect(choice).not.toBeNull();
        expect(parseReleaseId(choice!.releaseId).ok).toBe(true);
        expect(used.has(choice!.releaseId)).toBe(false);
        used.add(choice!.releaseId);
      }
    }),
    { numRuns: 50 },
  );
});
