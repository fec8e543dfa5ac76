import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useApp } from '../state/app.ts';
import type { Palette } from './palette.tsx';

/** The palette, whose file is loaded when it is first opened. */
export function LazyPalette(props: Parameters<typeof Palette>[0]): JSX.Element | null {
  const app = useApp();
  const [loaded, setLoaded] = useState<{ readonly Palette: typeof Palette } | null>(null);
  useEffect(() => {
    import('./palette.tsx').then(setLoaded, () => {
      props.onClosed();
      app.toast('The search could not be loaded, because the server does not answer.', 'bad');
    });
  }, []);
  return loaded === null ? null : <loaded.Palette {...props} />;
}
