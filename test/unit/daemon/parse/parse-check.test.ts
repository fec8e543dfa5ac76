import { describe, expect, it } from 'vitest';
import { PARSER_VERSION } from '../../../../src/daemon/parse/container/parser-version.ts';
import { parseFinding, type ParseFacts } from '../../../../src/daemon/parse/parse-check.ts';
import { statusOf } from '../../../../src/daemon/parse/index/index-status.ts';
import { failure, success } from '../../../../src/domain/result.ts';
import type { Task } from '../../../../src/daemon/tasks/task.ts';
import { blake3Hex } from '../../../../src/platform/hashing/blake3.ts';

const DIGEST = blake3Hex(Buffer.from('rules'));
const INDEXED = {
  ...statusOf(null),
  release_id: 'r2',
  containers: 3,
  units: 9,
  parser_version: PARSER_VERSION,
  rules_digest: DIGEST,
};
const FAILED = {
  last: { failure_code: 'data_full', failure_reason: 'no space' } as Task,
  consecutiveFailures: 1,
  failingSince: 7,
};
const FACTS: ParseFacts = {
  rules: success(DIGEST),
  status: INDEXED,
  replacement: null,
  currentReleaseId: 'r2',
  history: { last: null, consecutiveFailures: 0, failingSince: null },
  isRunning: false,
  isAutomatic: true,
};
const OLD = { ...INDEXED, release_id: 'r1' };

describe('the doctor check of the parse index', () => {
  it.each<[string, Partial<ParseFacts>, string, RegExp]>([
    ['an index of the release and the rules', {}, 'ok', /^9 text units in 3 containers of r2$/],
    ['such an index, whatever failed before', { history: FAILED }, 'ok', /^9 text units/],
    [
      'rules that cannot be used, before everything else',
      { rules: failure(['parse.rules[0].schema: gone', 'parse.secrets.a: gone']), history: FAILED },
      'degraded',
      /rules_invalid: parse\.rules\[0\]\.schema: gone; parse\.secrets\.a: gone; .*ctl reload/,
    ],
    ['no release', { currentReleaseId: null, history: FAILED }, 'ok', /no official release/],
    ['a failed run', { status: OLD, history: FAILED }, 'degraded', /data_full: no space/],
    [
      'an index of other rules',
      { status: { ...INDEXED, rules_digest: blake3Hex(Buffer.from('old')) } },
      'degraded',
      /r2 is not indexed with the current rules and parser; run "slipway ctl parse"$/,
    ],
    [
      'an index of another parser',
      { status: { ...INDEXED, parser_version: 'old' } },
      'degraded',
      /with the current rules and parser/,
    ],
    [
      'an index of another release',
      { status: OLD },
      'degraded',
      /r2 is not indexed; run "slipway ctl parse"; reports show r1 until then/,
    ],
    ['a run in progress', { status: OLD, isRunning: true }, 'ok', /r2 is being indexed; reports show r1/],
    [
      'automatic runs that are off',
      { status: OLD, isAutomatic: false },
      'ok',
      /r2 is not indexed; parse\.automatic is off, so run "slipway ctl parse"/,
    ],
    [
      'an index that was replaced',
      { status: statusOf(null), replacement: { at: 1, reason: 'the index was damaged' } },
      'degraded',
      /r2 is not indexed, because the index was damaged; run "slipway ctl parse"/,
    ],
  ])('judges %s', (_, facts, status, message) => {
    const finding = parseFinding({ ...FACTS, ...facts });
    expect(finding.message).toMatch(message);
    expect(finding.status).toBe(status);
  });

  it('tells since when runs fail', () => {
    expect(parseFinding({ ...FACTS, status: OLD, history: FAILED }).since).toBe(7);
  });
});
