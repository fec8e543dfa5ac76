import { expect, test } from 'vitest';
import { byName } from '../../../../src/daemon/api/by-name.ts';

test('two rooms cannot define one name', () => {
  expect([...byName([{ name: 'a' }, { name: 'b' }]).keys()]).toEqual(['a', 'b']);
  expect(() => byName([{ name: 'a' }, { name: 'a' }])).toThrow('a is defined twice');
});
