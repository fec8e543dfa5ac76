import { useEffect, useRef, useState } from 'preact/hooks';
import { useApp } from '../state/app.ts';

/** How long a person must pause before what they typed is in the address, milliseconds. Browsers limit changes of it. */
const PAUSE_MS = 300;

interface TypedQuery {
  readonly typed: string;
  readonly onInput: (text: string) => void;
  readonly onChange: (text: string) => void;
}

/** The text of a field whose choice in the address has a name. The address gets it after a pause. */
export function useTypedQuery(name: string): TypedQuery {
  const app = useApp();
  const value = app.query(name);
  const { view, argument } = app.route;
  const [typed, setTyped] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const written = useRef(value);
  const write = (text: string): void => {
    clearTimeout(timer.current);
    const now = app.route;
    // A browser reports the change of a field that is removed, when the address is already that of another page.
    if (now.view !== view || now.argument !== argument) return;
    written.current = text;
    if (text !== app.query(name)) app.setQuery({ [name]: text });
  };
  useEffect(() => {
    // The text that this field wrote itself may be older than the typed one.
    if (value === written.current) return;
    clearTimeout(timer.current);
    written.current = value;
    setTyped(value);
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return {
    typed,
    onInput: (text) => {
      setTyped(text);
      clearTimeout(timer.current);
      timer.current = setTimeout(() => write(text), PAUSE_MS);
    },
    onChange: write,
  };
}
