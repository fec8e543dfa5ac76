import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

/** The characters that a header can carry. */
const TOKEN = /^[\x21-\x7e]+$/;

/**
 * Asks for the admin token.
 *
 * @param props `message`: why; `onLogin`: resolves with the problem, or `null`
 */
export function LoginView({
  message,
  onLogin,
}: {
  readonly message: string | null;
  readonly onLogin: (token: string, keep: boolean) => Promise<string | null>;
}): JSX.Element {
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [isKept, setKept] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const refuse = (why: string): void => {
    setProblem(why);
    setBusy(false);
    field.current?.focus();
    field.current?.select();
  };
  const submit = async (): Promise<void> => {
    const token = field.current?.value.trim() ?? '';
    if (!TOKEN.test(token)) {
      refuse('Enter a token of visible ASCII characters.');
      return;
    }
    setBusy(true);
    setProblem(null);
    try {
      const why = await onLogin(token, isKept);
      if (why !== null) refuse(why);
    } catch (error) {
      refuse(`The page could not be opened: ${error instanceof Error ? error.message : String(error)}`);
    }
  };
  return (
    <main class="login" id="main">
      <img src="icon.svg" alt="" width={56} height={56} />
      <h1>Slipway</h1>
      <p>
        Enter an access token of this server. <code>make run</code> prints the path of its file; otherwise,
        ask the operator.
      </p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
        noValidate
      >
        <div class="field">
          <label for="token">Access token</label>
          <input
            id="token"
            type="password"
            autocomplete="off"
            spellcheck={false}
            aria-invalid={problem !== null}
            aria-describedby="token-message"
            ref={field}
          />
        </div>
        <p id="token-message" class="problem" role="alert">
          {problem ?? message}
        </p>
        <div class="field switch">
          <input id="keep" type="checkbox" onChange={(event) => setKept(event.currentTarget.checked)} />
          <label for="keep">Stay signed in after a reload</label>
        </div>
        <button type="submit" class="primary" disabled={isBusy}>
          {isBusy ? 'Checking the token …' : 'Open the console'}
        </button>
      </form>
      <p class="muted">The token stays in this tab; only this server gets it.</p>
    </main>
  );
}
