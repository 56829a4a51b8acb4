package kafka

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
)

// tokenTime is how long a command may take to print a token.
const tokenTime = 30 * time.Second

// bearer logs in with a token that somebody else renews: tokens live for minutes,
// and each connection gets the newest.
func (s Security) bearer() (sasl.Mechanism, error) {
	if (s.TokenFile == "") == (s.TokenCommand == "") {
		return nil, errors.New("SASL oauthbearer needs a file that has the token or a command that prints it, one of both")
	}
	if s.User != "" || s.Password != "" || s.PasswordFile != "" {
		return nil, errors.New("SASL oauthbearer takes a token, no user and no password")
	}
	if err := s.canPrint(); err != nil {
		return nil, err
	}
	return oauth.Oauth(func(ctx context.Context) (oauth.Auth, error) {
		token, err := s.token(ctx)
		return oauth.Auth{Token: token}, err
	}), nil
}

// canPrint says what keeps the token from being had at all.
func (s Security) canPrint() error {
	if s.TokenFile != "" {
		_, err := secretFile("token", s.TokenFile)
		return err
	}
	words := strings.Fields(s.TokenCommand)
	if len(words) == 0 {
		return errors.New("the token command is empty")
	}
	if _, err := exec.LookPath(words[0]); err != nil {
		return fmt.Errorf("the token command: %w", err)
	}
	return nil
}

func (s Security) token(ctx context.Context) (string, error) {
	if s.TokenFile != "" {
		return secretFile("token", s.TokenFile)
	}
	ctx, cancel := context.WithTimeout(ctx, tokenTime)
	defer cancel()
	words := strings.Fields(s.TokenCommand)
	out, err := exec.CommandContext(ctx, words[0], words[1:]...).Output()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return "", fmt.Errorf("the token command %s has not printed a token within %v", words[0], tokenTime)
	}
	if err != nil {
		return "", fmt.Errorf("the token command: %w", err)
	}
	token := strings.TrimSpace(string(out))
	if token == "" {
		return "", errors.New("the token command printed nothing")
	}
	return token, nil
}
