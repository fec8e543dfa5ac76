import { Component, createRef, type JSX } from 'preact';

interface LoginProps {
  /** Why the page asks for a token. */
  readonly message: string | null;
  /** Resolves with the problem, or `null`. */
  readonly onLogin: (token: string, keep: boolean) => Promise<string | null>;
}

interface LoginState {
  readonly problem: string | null;
  readonly busy: boolean;
}

/** The characters that a header can carry. */
const TOKEN = /^[\x21-\x7e]+$/;

/** Asks for the admin token. */
export class LoginView extends Component<LoginProps, LoginState> {
  readonly token = createRef<HTMLInputElement>();
  keep = false;

  constructor(props: LoginProps) {
    super(props);
    this.state = { problem: null, busy: false };
  }

  override componentDidMount(): void {
    this.token.current?.focus();
  }

  async submit(): Promise<void> {
    const token = this.token.current?.value.trim() ?? '';
    if (!TOKEN.test(token)) {
      this.refuse('Enter a token of visible ASCII characters.');
      return;
    }
    this.setState({ busy: true, problem: null });
    try {
      const problem = await this.props.onLogin(token, this.keep);
      if (problem !== null) this.refuse(problem);
    } catch (error) {
      this.refuse(`The page could not be opened: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  refuse(problem: string): void {
    this.setState({ problem, busy: false });
    this.token.current?.focus();
    this.token.current?.select();
  }

  override render(): JSX.Element {
    const { problem, busy } = this.state;
    return (
      <main class="login" id="main">
        <img src="icon.svg" alt="" width={56} height={56} />
        <h1>Slipway</h1>
        <p>Enter the admin token of this server.</p>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void this.submit();
          }}
          noValidate
        >
          <div class="field">
            <label for="token">Admin token</label>
            <input
              id="token"
              type="password"
              autocomplete="off"
              spellcheck={false}
              aria-invalid={problem !== null}
              aria-describedby="token-message"
              ref={this.token}
            />
          </div>
          <p id="token-message" class="problem" role="alert">
            {problem ?? this.props.message}
          </p>
          <div class="field switch">
            <input
              id="keep"
              type="checkbox"
              onChange={(event) => {
                this.keep = event.currentTarget.checked;
              }}
            />
            <label for="keep">Keep it until this tab is closed</label>
          </div>
          <button type="submit" class="primary" disabled={busy}>
            {busy ? 'Checking the token …' : 'Open the console'}
          </button>
        </form>
        <p class="muted">The token stays in this tab. The page sends it only to this server, in a header.</p>
      </main>
    );
  }
}
