/** The keys of the page that is shown. */

import { signal, type ReadonlySignal } from '@preact/signals';

/** A key and what it does. */
export interface PageKey {
  /**
   * Such as `j`, `?`, `Control+Enter` or `Alt+1`: modifiers in the order Control, Alt, Shift, then the `key` of the event.
   * The command key of a Mac counts as Control.
   */
  readonly keys: string;
  /** Its effect, for the list of keys. */
  readonly text: string;
  readonly run: () => void;
  /** Whether it also works where a person fills in a form, whose keys are its own otherwise. */
  readonly worksInForms?: boolean;
}

/** The keys that work now. */
export interface Keyboard {
  readonly keys: ReadonlySignal<readonly PageKey[]>;
  /** Adds keys. @returns removes them */
  add(keys: readonly PageKey[]): () => void;
  /** Runs the function of a key. @returns whether it has one */
  press(event: KeyPress): boolean;
  /** The name of a key for people, on their keyboard. */
  nameOf(keys: string): string;
}

/** The part of a `KeyboardEvent` that is used. */
export type KeyPress = Pick<
  KeyboardEvent,
  'key' | 'code' | 'ctrlKey' | 'metaKey' | 'altKey' | 'shiftKey' | 'isComposing'
> & {
  /** Whether the focus is where a person types. */
  readonly isTyping: boolean;
  /** Whether that is a field of a form, such as the reason of a decision. */
  readonly isInForm: boolean;
};

/**
 * Makes the keyboard of a page. The keys that were added last win.
 *
 * @param options `isMac`: where Alt makes characters, such as Alt+C a ç: in a text, a key with Alt is a command only together with
 *   Control there
 */
export function createKeyboard({ isMac = false }: { readonly isMac?: boolean } = {}): Keyboard {
  const keys = signal<readonly PageKey[]>([]);
  return {
    keys,
    add: (added) => {
      keys.value = [...added, ...keys.peek()];
      return () => {
        keys.value = keys.peek().filter((each) => !added.includes(each));
      };
    },
    press: (event) => {
      // A key that completes a character of an input method is text.
      if (event.isComposing) return false;
      const pressed = isMac ? withoutMacControl(event) : event;
      if (pressed === null) return false;
      const names = namesOf(pressed);
      const found = keys.peek().find((each) => names.includes(each.keys));
      if (found === undefined) return false;
      if (event.isTyping && !isCommand(event)) return false;
      if (isOfForm(event) && found.worksInForms !== true) return false;
      found.run();
      return true;
    },
    nameOf: (keys) => {
      const name = keys.split('+').map(keyName).join(' ');
      return isMac ? name.replace('Alt', 'Ctrl Option') : name;
    },
  };
}

const KEY_NAMES: Readonly<Record<string, string>> = { Control: 'Ctrl', ArrowUp: '↑', ArrowDown: '↓' };

/** One key as keyboards show it: a letter beside modifiers is a capital there. */
function keyName(key: string, index: number): string {
  return KEY_NAMES[key] ?? (index > 0 && key.length === 1 ? key.toUpperCase() : key);
}

/** Whether a key belongs to the form that has the focus. */
function isOfForm(event: KeyPress): boolean {
  return event.isInForm && (event.isTyping || isCommand(event));
}

/** A key with Alt on a Mac, where Control tells the command from the character; `null` for a character of a text. */
function withoutMacControl(event: KeyPress): KeyPress | null {
  if (!event.altKey || event.metaKey) return event;
  if (event.ctrlKey) return { ...event, ctrlKey: false };
  return event.isTyping ? null : event;
}

/** A plain key is text where a person types; a key with Control or Alt is a command everywhere. */
function isCommand({ ctrlKey, metaKey, altKey }: KeyPress): boolean {
  return ctrlKey || metaKey || altKey;
}

/** The names that a key goes by. Alt changes characters on some layouts, so there the place of the key counts too. */
function namesOf({ key, code, ctrlKey, metaKey, altKey, shiftKey }: KeyPress): readonly string[] {
  const character = key.length === 1 ? key.toLowerCase() : key;
  const place = altKey ? /^(?:Key|Digit)(.)$/.exec(code)?.[1]?.toLowerCase() : undefined;
  const modifiers = `${ctrlKey || metaKey ? 'Control+' : ''}${altKey ? 'Alt+' : ''}`;
  // Shift is part of a character such as `?`, and a modifier of letters and other keys.
  const isSymbol = key.length === 1 && key.toLowerCase() === key.toUpperCase();
  const shift = shiftKey && !isSymbol ? 'Shift+' : '';
  return [character, ...(place === undefined ? [] : [place])].map((name) => `${modifiers}${shift}${name}`);
}
