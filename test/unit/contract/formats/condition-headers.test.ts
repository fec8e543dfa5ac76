import { describe, expect, it } from 'vitest';
import { parseConditions, renderConditions } from '../../../../src/contract/formats/condition-headers.ts';
import {
  CONDITION_MESSAGE_MAX,
  DAEMON_CONDITIONS_MAX,
  type DaemonCondition,
} from '../../../../src/domain/service-state/daemon-conditions.ts';

const ONE: DaemonCondition = {
  code: 'syncing',
  message: 'a sync runs: "é", 100 %',
  since: 5,
  next_try: null,
};

describe('the header of the conditions', () => {
  it('survives a write and a read unchanged, in the characters of a header', () => {
    const text = renderConditions([ONE]);
    expect(text).toMatch(/^[\x21-\x7e]+$/);
    expect(parseConditions(text)).toEqual([ONE]);
    const ofChannel = { ...ONE, code: 'repairing', channel: 'localized' } as const;
    expect(parseConditions(renderConditions([ofChannel]))).toEqual([ofChannel]);
    expect(parseConditions(renderConditions([]))).toEqual([]);
  });

  it('stays small, however many and long the conditions are', () => {
    const many = Array.from({ length: 50 }, () => ({ ...ONE, message: '語'.repeat(5000) }));
    const text = renderConditions(many);
    expect(text.length).toBeLessThanOrEqual(8 * 1024);
    const read = parseConditions(text);
    expect(read?.length).toBeGreaterThan(0);
    expect(read?.length).toBeLessThanOrEqual(DAEMON_CONDITIONS_MAX);
    expect(read?.[0]?.message).toHaveLength(CONDITION_MESSAGE_MAX);
  });

  it('leaves out a condition of a newer daemon', () => {
    expect(
      parseConditions(encodeURIComponent(JSON.stringify([{ ...ONE, code: 'unheard_of' }, ONE]))),
    ).toEqual([ONE]);
  });

  it.each([null, '', '%', '%7B%7D', 'null'])('tells nothing as %j', (text) => {
    expect(parseConditions(text)).toBe(null);
  });
});
