// Drives our platform through what was generated from the contract: REST types, messages and clients. Each failure is printed, then the score.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"connectrpc.com/connect"

	"agentsandbox.test/generated/gen/go/filesystem"
	"agentsandbox.test/generated/gen/go/filesystem/filesystemconnect"
	"agentsandbox.test/generated/gen/go/lifecycle"
	"agentsandbox.test/generated/gen/go/process"
	"agentsandbox.test/generated/gen/go/process/processconnect"
)

var apiURL, sandboxURL, apiKey = os.Getenv("E2B_API_URL"), os.Getenv("E2B_SANDBOX_URL"), os.Getenv("E2B_API_KEY")

// rest makes one call to the control plane and decodes its answer.
func rest(ctx context.Context, method, path string, body, answer any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, apiURL+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header.Set("X-API-KEY", apiKey)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode >= 300 {
		return fmt.Errorf("%s %s: status %d: %s", method, path, response.StatusCode, content)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(content, answer)
}

func toSandbox(sandbox lifecycle.Sandbox) connect.Interceptor {
	return connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
			address(request.Header(), sandbox)
			return next(ctx, request)
		}
	})
}

func address(header http.Header, sandbox lifecycle.Sandbox) {
	header.Set("E2b-Sandbox-Id", sandbox.SandboxID)
	header.Set("E2b-Sandbox-Port", "49983")
	if sandbox.EnvdAccessToken != nil {
		header.Set("X-Access-Token", *sandbox.EnvdAccessToken)
	}
}

func checkStart(ctx context.Context, sandbox lifecycle.Sandbox) error {
	processes := processconnect.NewProcessClient(http.DefaultClient, sandboxURL)
	request := connect.NewRequest(&process.StartRequest{
		Process: &process.ProcessConfig{Cmd: "/bin/sh", Args: []string{"-c", "echo out; echo err >&2; echo \"A=$A\"; exit 3"}, Envs: map[string]string{"A": "1"}},
	})
	address(request.Header(), sandbox)
	stream, err := processes.Start(ctx, request)
	if err != nil {
		return err
	}
	defer stream.Close()
	var stdout, stderr string
	var pid uint32
	var end *process.ProcessEvent_EndEvent
	for stream.Receive() {
		switch event := stream.Msg().GetEvent().GetEvent().(type) {
		case *process.ProcessEvent_Start:
			pid = event.Start.GetPid()
		case *process.ProcessEvent_Data:
			stdout += string(event.Data.GetStdout())
			stderr += string(event.Data.GetStderr())
		case *process.ProcessEvent_End:
			end = event.End
		}
	}
	if err := stream.Err(); err != nil {
		return err
	}
	if pid == 0 || stdout != "out\nA=1\n" || stderr != "err\n" || end.GetExitCode() != 3 {
		return fmt.Errorf("pid %d, stdout %q, stderr %q, end %v", pid, stdout, stderr, end)
	}
	return nil
}

func checkStat(ctx context.Context, sandbox lifecycle.Sandbox) error {
	files := filesystemconnect.NewFilesystemClient(http.DefaultClient, sandboxURL, connect.WithInterceptors(toSandbox(sandbox)))
	answer, err := files.Stat(ctx, connect.NewRequest(&filesystem.StatRequest{Path: "/etc/hostname"}))
	if err != nil {
		return err
	}
	entry := answer.Msg.GetEntry()
	if entry.GetName() != "hostname" || entry.GetType() != filesystem.FileType_FILE_TYPE_FILE || entry.GetSize() == 0 {
		return fmt.Errorf("entry %v", entry)
	}
	_, err = files.Stat(ctx, connect.NewRequest(&filesystem.StatRequest{Path: "/never-was"}))
	if connect.CodeOf(err) != connect.CodeNotFound {
		return fmt.Errorf("a missing file gives %v", err)
	}
	return nil
}

// result is one line of what CONFORMANCE_RESULTS gets.
type result struct {
	Name   string `json:"name"`
	Passed bool   `json:"passed"`
	Reason string `json:"reason,omitempty"`
}

// write leaves the results in the directory that CONFORMANCE_RESULTS names, if any.
func write(results []result) error {
	directory := os.Getenv("CONFORMANCE_RESULTS")
	if directory == "" {
		return nil
	}
	text, err := json.MarshalIndent(map[string]any{"suite": "generated-go", "results": []any{}, "checks": results}, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(directory, "generated-go.json"), append(text, '\n'), 0o644)
}

func run(ctx context.Context) (passed, total int, results []result) {
	total = 4
	report := func(name string, err error) {
		if err == nil {
			passed++
			results = append(results, result{Name: name, Passed: true})
		} else {
			fmt.Printf("FAIL %s: %v\n", name, err)
			results = append(results, result{Name: name, Reason: err.Error()})
		}
	}
	timeout := 120
	var sandbox lifecycle.Sandbox
	err := rest(ctx, http.MethodPost, "/sandboxes", lifecycle.NewSandbox{TemplateID: "base", Timeout: &timeout}, &sandbox)
	report("create", err)
	if err != nil {
		return passed, total, results
	}
	report("Start", checkStart(ctx, sandbox))
	report("Stat", checkStat(ctx, sandbox))
	report("kill", rest(ctx, http.MethodDelete, "/sandboxes/"+sandbox.SandboxID, struct{}{}, nil))
	return passed, total, results
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	passed, total, results := run(ctx)
	if err := write(results); err != nil {
		fmt.Printf("FAIL the results cannot be written: %v\n", err)
		passed--
	}
	fmt.Printf("conformance generated-go: %d of %d\n", passed, total)
	if passed < total {
		cancel()
		os.Exit(1)
	}
}
