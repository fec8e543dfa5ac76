import type { JSX } from 'preact';
import { useApp } from '../state/app.ts';
import { Button } from './controls.tsx';

/** Forgets the token in this tab and its storage. It has the same name wherever it stands. */
export function LogOutButton({ class: name = '' }: { readonly class?: string }): JSX.Element {
  const app = useApp();
  return (
    <Button class={name} onClick={() => void app.logOut()}>
      Log out
    </Button>
  );
}
