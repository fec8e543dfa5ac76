import { describe, expect, it } from 'vitest';
import { createKeyboard, type KeyPress } from '../../../src/console/state/keyboard.ts';

function press(change: Partial<KeyPress>): KeyPress {
  return {
    key: '',
    code: '',
    ctrlKey: false,
    metaKey: false,
    altKey: false,
    shiftKey: false,
    isComposing: false,
    isTyping: false,
    isInForm: false,
    ...change,
  };
}

describe('the keys of a page', () => {
  it.each<[string, Partial<KeyPress>, boolean]>([
    ['j', { key: 'j', code: 'KeyJ' }, true],
    ['j', { key: 'J', code: 'KeyJ', shiftKey: true }, false],
    ['Shift+j', { key: 'J', code: 'KeyJ', shiftKey: true }, true],
    ['?', { key: '?', code: 'Slash', shiftKey: true }, true],
    ['j', { key: 'j', code: 'KeyJ', isTyping: true }, false],
    ['Control+k', { key: 'k', code: 'KeyK', ctrlKey: true, isTyping: true }, true],
    ['Control+k', { key: 'k', code: 'KeyK', metaKey: true }, true],
    ['Control+Enter', { key: 'Enter', code: 'Enter', ctrlKey: true, isTyping: true }, true],
    ['Control+Enter', { key: 'Enter', code: 'Enter', ctrlKey: true, isComposing: true }, false],
    // On a Mac, Alt and a digit make another character.
    ['Alt+1', { key: '¡', code: 'Digit1', altKey: true, isTyping: true }, true],
    // The place of a key does not count without Alt.
    ['2', { key: 'é', code: 'Digit2' }, false],
  ])('%s is pressed by %o: %s', (keys, event, runs) => {
    const keyboard = createKeyboard();
    let count = 0;
    keyboard.add([{ keys, text: 'counts', run: () => (count += 1) }]);
    expect([keyboard.press(press(event)), count]).toEqual([runs, runs ? 1 : 0]);
  });

  it('rest in a form, so that its reason does not decide something else; the search works there, too', () => {
    const keyboard = createKeyboard();
    const pressed: string[] = [];
    keyboard.add([
      { keys: 'Control+Enter', text: 'Accept', run: () => pressed.push('accept') },
      { keys: 'Control+k', text: 'Search', run: () => pressed.push('search'), worksInForms: true },
    ]);
    const inForm = { ctrlKey: true, isTyping: true, isInForm: true };
    expect(keyboard.press(press({ ...inForm, key: 'Enter' }))).toBe(false);
    expect(keyboard.press(press({ ...inForm, key: 'k' }))).toBe(true);
    expect(pressed).toEqual(['search']);
  });

  it('rest on the buttons of a form, too, and Control+Enter there belongs to the form', () => {
    const keyboard = createKeyboard();
    keyboard.add([{ keys: 'Control+Enter', text: 'Accept', run: () => undefined }]);
    expect(keyboard.press(press({ key: 'Enter', ctrlKey: true, isInForm: true }))).toBe(false);
  });

  it.each<[string, Partial<KeyPress>, boolean]>([
    ['ç is text', { key: 'ç', code: 'KeyC', altKey: true, isTyping: true }, false],
    ['the accent of ñ is text', { key: 'Dead', code: 'KeyN', altKey: true, isTyping: true }, false],
    ['Option moves the caret', { key: 'ArrowDown', code: 'ArrowDown', altKey: true, isTyping: true }, false],
    ['Control and Option', { key: 'ç', code: 'KeyC', altKey: true, ctrlKey: true, isTyping: true }, true],
    ['a list has no text', { key: 'ç', code: 'KeyC', altKey: true }, true],
  ])('on a Mac: %s', (_what, event, runs) => {
    const keyboard = createKeyboard({ isMac: true });
    keyboard.add([
      { keys: 'Alt+c', text: 'Copy', run: () => undefined },
      { keys: 'Alt+n', text: 'Next', run: () => undefined },
      { keys: 'Alt+ArrowDown', text: 'Down', run: () => undefined },
    ]);
    expect(keyboard.press(press(event))).toBe(runs);
    const plain = createKeyboard();
    const names = ['Control+Enter', 'Alt+ArrowDown', 'j', '?'].map((keys) => plain.nameOf(keys));
    expect([keyboard.nameOf('Alt+c'), ...names]).toEqual(['Ctrl Option C', 'Ctrl Enter', 'Alt ↓', 'j', '?']);
  });

  it('belong to the page while it is shown, and the last ones win', () => {
    const keyboard = createKeyboard();
    const pressed: string[] = [];
    keyboard.add([{ keys: 'j', text: 'of the frame', run: () => pressed.push('frame') }]);
    const remove = keyboard.add([{ keys: 'j', text: 'of the page', run: () => pressed.push('page') }]);
    keyboard.press(press({ key: 'j' }));
    remove();
    keyboard.press(press({ key: 'j' }));
    expect(pressed).toEqual(['page', 'frame']);
    expect(keyboard.keys.value.map(({ text }) => text)).toEqual(['of the frame']);
  });
});
