import { expect, it } from 'vitest';
import { refuseRelease, type ReleaseFacts } from '../../../scripts/release/refuse-release.ts';

const chart = 'version: 0.2.0\nappVersion: 0.2.0\n';
const RELEASABLE: ReleaseFacts = {
  version: '0.2.0',
  packageFile: '{"version":"0.2.0"}',
  charts: { 'charts/slipway': chart, 'charts/slipway-crds': chart },
  changelog: '# Changelog\n\n## [0.2.0] - 2026-12-01\n',
  upgradeNotes: '# Upgrade notes\n\n## 0.2.0\n\n## 0.1.0\n',
  tags: 'v0.1.0\nv0.2.0-rc.1\nv10.2.0\n',
  status: '',
};

it('a version that every file has, of a clean tree and without a tag, is released', () => {
  expect(refuseRelease(RELEASABLE)).toEqual([]);
});

it.each<[string, Partial<ReleaseFacts>, RegExp]>([
  ['no version', { version: '' }, /^VERSION= is not a semantic version/],
  ['a tag as the version', { version: 'v0.2.0' }, /^VERSION=v0\.2\.0 is not a semantic version/],
  ['leading zeros', { version: '0.02.0' }, /is not a semantic version/],
  [
    'build metadata, which a tag of an image cannot have',
    { version: '0.2.0+1' },
    /is not a semantic version/,
  ],
  [
    'another version of the package',
    { packageFile: '{"version":"0.1.9"}' },
    /^package\.json has version 0\.1\.9: run npm version 0\.2\.0/,
  ],
  [
    'another version of a chart',
    { charts: { 'charts/slipway-crds': 'version: 0.1.0\nappVersion: 0.2.0\n' } },
    /^charts\/slipway-crds\/Chart\.yaml has version 0\.1\.0/,
  ],
  [
    'another version of the image in a chart',
    { charts: { 'charts/slipway': 'version: 0.2.0\n' } },
    /^charts\/slipway\/Chart\.yaml has appVersion undefined/,
  ],
  [
    'no section of the changelog',
    { changelog: '## [0.2.01]\n## [0x2.0]\n' },
    /^CHANGELOG\.md has no section "## \[0\.2\.0\] - YYYY-MM-DD"/,
  ],
  ['a section without a date', { changelog: '## [0.2.0] - unreleased\n' }, /and set the date$/],
  [
    'no upgrade notes',
    { upgradeNotes: '## 0.2.0-rc.1\n' },
    /^charts\/slipway\/UPGRADING\.md has no section 0\.2\.0/,
  ],
  ['an existing tag', { tags: 'v0.1.0\nv0.2.0' }, /^the tag v0\.2\.0 exists/],
  [
    'a dirty tree',
    { status: ' M src/a.ts\n?? b\n' },
    /^the working tree has uncommitted changes[^]* M src\/a\.ts\n\?\? b$/,
  ],
])('refuses %s, and says what to do', (_, change, reason) => {
  expect(refuseRelease({ ...RELEASABLE, ...change })).toEqual([expect.stringMatching(reason) as string]);
});

it('says everything at once', () => {
  const many = { changelog: '', upgradeNotes: '', tags: 'v0.2.0', status: '?? b' };
  expect(refuseRelease({ ...RELEASABLE, ...many })).toHaveLength(4);
});
