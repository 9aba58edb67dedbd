/** What only people who run Postrider understand; no screen and no answer for a customer has it. */
export const ourWords: RegExp =
  /\boffsets?\b|\btopics?\b|\bbreakers?\b|\bdead.letters?\b|\btiers?\b|\bpartitions?\b|\brouters?\b|\bworkers?\b|\bkafka\b|\bconfiguration up to\b|\bconfig\b|\bbundles?\b|\bredrive|\bpostrider\b|\bpacked with\b|\bretry\.\w+|\bwebhook's url\b|\b(?:expired-late|http-\d+|record-refused|malformed|not-http|tls-untrusted|too-old)\b/i;
