import { expect, it } from 'vitest';
import { errorFields } from '../../../../src/platform/logging/error-fields.ts';

it('shows the text of a cause once', () => {
  const root = new Error('connect ECONNREFUSED 127.0.0.1:1');
  const middle = new Error(root.message, { cause: root });
  const outer = new Error(`the daemon cannot be reached: ${root.message}`, { cause: middle });
  expect(errorFields(outer)).toMatchObject({
    type: 'Error',
    message: 'the daemon cannot be reached: connect ECONNREFUSED 127.0.0.1:1',
  });
});

it('adds what only a cause says, and ends at a loop', () => {
  const cause = new Error('the disk is full');
  const error = new Error('the file was not written', { cause });
  cause.cause = error;
  expect(errorFields(error)).toMatchObject({ message: 'the file was not written: the disk is full' });
});

it('leaves everything else as it is', () => {
  expect([errorFields('text'), errorFields(null)]).toEqual(['text', null]);
});
