import { expect, it } from 'vitest';
import { countNoun } from '../../../src/domain/count-noun.ts';

it('is the noun of what a task did, and nothing for sizes and times', () => {
  expect(countNoun('built_containers', 2)).toBe('built containers');
  expect(countNoun('replaced_entries', 1n)).toBe('replaced entry');
  expect(countNoun('units', 1)).toBe('unit');
  for (const name of ['total_bytes', 'created_at', 'entry_count', 'coverage', 'attestation_version']) {
    expect(countNoun(name, 1)).toBeNull();
  }
});
