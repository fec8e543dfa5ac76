import { describe, expect, it } from 'vitest';
import { createPermissionBook } from '../../../../src/operator/kubernetes/permission-book.ts';
import { KubernetesError } from '../../../../src/platform/kubernetes/kubernetes-error.ts';
import { createLogger } from '../../../../src/platform/logging/logging.ts';

const forbidden = (causes: readonly string[]): KubernetesError =>
  new KubernetesError(403, 'Forbidden', 'no', { causes });

describe('the permission book', () => {
  it('names a missing permission, but not a namespace that is being deleted', async () => {
    const book = createPermissionBook(createLogger({ name: 'test', level: 'silent' }));
    const fail = async (causes: readonly string[]): Promise<void> => {
      const failing = book.watch('create events', async () => {
        throw forbidden(causes);
      });
      await expect(failing).rejects.toThrow('no');
    };
    await fail(['NamespaceTerminating']);
    expect(book.troubles()).toEqual([]);
    await fail([]);
    expect(book.troubles()).toEqual(['no permission to create events']);
    await book.watch('create events', async () => undefined);
    expect(book.troubles()).toEqual([]);
  });
});
