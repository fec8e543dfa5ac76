import { describe, expect, it } from 'vitest';
import { createThemeChoice } from '../../../src/console/state/theme.ts';

describe('the theme of the page', () => {
  it('follows the system until the reader chooses, and keeps the choice', () => {
    const kept = new Map<string, string>();
    const storage = (): Pick<Storage, 'getItem' | 'setItem'> => ({
      getItem: (key) => kept.get(key) ?? null,
      setItem: (key, value) => void kept.set(key, value),
    });
    const root = { dataset: {} as DOMStringMap };
    const first = createThemeChoice({ storage, root });
    expect([first.theme.value, root.dataset]).toEqual(['system', {}]);
    first.choose('dark');
    expect([first.theme.value, root.dataset]).toEqual(['dark', { theme: 'dark' }]);
    const later = { dataset: {} as DOMStringMap };
    const second = createThemeChoice({ storage, root: later });
    expect(later.dataset).toEqual({ theme: 'dark' });
    second.choose('system');
    expect(later.dataset).toEqual({});
  });

  it('works without storage, and with a value that it does not know', () => {
    const root = { dataset: {} as DOMStringMap };
    const refusing = (): never => {
      throw new Error('SecurityError');
    };
    const choice = createThemeChoice({ storage: refusing, root });
    choice.choose('light');
    expect(root.dataset).toEqual({ theme: 'light' });
    const odd = { getItem: () => 'sepia', setItem: () => undefined };
    expect(createThemeChoice({ storage: () => odd, root: { dataset: {} } }).theme.value).toBe('system');
  });
});
