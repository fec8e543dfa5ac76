import { execFileSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { expect, it } from 'vitest';
import { provenanceOf } from '../../../scripts/release/provenance.ts';
import { kindOfFile } from '../../../scripts/release/release-files.ts';

const ROOT = resolve(import.meta.dirname, '../../..');

it.each([
  ['slipway-0.2.0-linux-amd64.tar', 'platform'],
  ['slipway-0.2.0-linux-arm64.cdx.json', 'platform'],
  ['slipway-0.2.0.tgz', 'common'],
  ['slipway-crds-0.2.0.tgz', 'common'],
  ['slipway-0.2.0-docs.tar.gz', 'common'],
  ['slipway-0.2.0.provenance.json', 'common'],
  ['slipway-0.2.0-rc.1.tgz', null],
  ['slipway-0.2.0-rc.1-linux-amd64.tar', null],
  ['slipway-0.2.01.tgz', null],
  ['slipway-crds-0.1.0.tgz', null],
  ['SHA256SUMS', null],
  ['cosign.key', null],
])('of a release, %s is %s', (name, kind) => {
  expect(kindOfFile(name, '0.2.0')).toBe(kind);
});

it.each([
  ['https://someone:token@git.example.org/games/slipway.git', 'https://git.example.org/games/slipway.git'],
  ['https://token@git.example.org:8443/slipway', 'https://git.example.org:8443/slipway'],
  ['git@git.example.org:games/slipway.git', 'ssh://git.example.org/games/slipway.git'],
  ['ssh://git@git.example.org:2222/games/slipway', 'ssh://git.example.org:2222/games/slipway'],
  ['https://git.example.org/@games/slipway', 'https://git.example.org/@games/slipway'],
])('the address %s is published as %s', (remote, address) => {
  const config = {
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: 'remote.origin.url',
    GIT_CONFIG_VALUE_0: remote,
  };
  const printed = execFileSync(join(ROOT, 'scripts/source-address.sh'), {
    cwd: ROOT,
    encoding: 'utf8',
    env: { ...process.env, ...config },
  });
  expect(printed).toBe(`${address}\n`);
});

it('the provenance has all that a person chose', () => {
  const build = {
    version: '0.2.0',
    commit: 'c',
    source: 'https://git.example.org/slipway',
    baseImage: { name: 'node:26-slim' },
    registry: 'registry.example.org/games',
    dockerFlags: ['--network=none'],
    lockFile: 'l',
    builder: 'person:test',
    startedOn: '2026-11-28T00:00:00Z',
    finishedOn: '2026-11-28T00:01:00Z',
  };
  expect(provenanceOf(build, new Map())).toMatchObject({
    predicate: {
      buildDefinition: {
        externalParameters: {
          version: '0.2.0',
          baseImage: 'node:26-slim',
          registry: 'registry.example.org/games',
          dockerFlags: ['--network=none'],
        },
      },
    },
  });
});
