import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Copy } from '../../parts/controls.tsx';
import { Choice } from '../../parts/controls.tsx';
import { Id } from '../../parts/data.tsx';
import { t } from '../../texts/texts.ts';
import type { receivers as Receivers } from './receivers.ts';

/** Once, with a button that copies it. */
export function SecretShown({ secret }: { readonly secret: string }): JSX.Element {
  return (
    <div class="secret">
      <p class="strong">{t.secret.title}</p>
      <p class="secret-line">
        <Id text={secret} />
        <Copy text={secret} what={t.secret.what} />
      </p>
      <p class="quiet">{t.secret.once}</p>
    </div>
  );
}

type Language = keyof typeof Receivers;

/** A complete program for the endpoint, in the language of its developer. */
export function ReceiverCode(): JSX.Element | null {
  const [receivers, setReceivers] = useState<typeof Receivers>();
  const [language, setLanguage] = useState<Language>('node');
  useEffect(() => {
    import('./receivers.ts').then(
      (loaded) => {
        setReceivers(loaded.receivers);
      },
      // Another version of the console has come; the documentation has the code too.
      () => undefined,
    );
  }, []);
  if (receivers === undefined) return null;
  const { install, code } = receivers[language];
  const names = Object.entries(receivers).map(
    ([each, { name }]) => [each as Language, name] as const,
  );
  return (
    <section aria-label={t.secret.code} class="receiver">
      <div class="section-head">
        <h3>{t.secret.code}</h3>
        <Choice label={t.secret.language} values={names} chosen={language} onChoose={setLanguage} />
      </div>
      <p class="quiet">{t.secret.variable}</p>
      <p class="quiet">
        {t.secret.install} <code>{install}</code>
      </p>
      <p class="code-copy">
        <Copy text={code} what={t.secret.theCode} />
      </p>
      <pre class="lines" tabIndex={0}>
        {code}
      </pre>
    </section>
  );
}
