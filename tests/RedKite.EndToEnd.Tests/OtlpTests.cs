using System.Collections.Concurrent;
using System.Globalization;
using System.Net;
using System.Text;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>The program sends metrics and spans to an OpenTelemetry collector: here a receiver that keeps what it gets.</summary>
public class OtlpTests
{
    private const int PatienceMs = 60_000;

    [Fact]
    public void Receiver_gets_metrics_and_spans_of_slow_commands()
    {
        Assert.SkipUnless(ServerProgram.UnderTest.IsRedKite, "Redis has no OTLP");
        using var receiver = new Receiver();
        using ServerProcess server = ServerProcess.Start(ServerProgram.UnderTest, "--otlp-endpoint", receiver.Address, "--otlp-interval-seconds", "1", "--enable-debug-command", "yes");
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("SET secret-key secret-value").IsOk();
        client.Run("DEBUG SLEEP 0.05").IsOk();

        receiver.Await("/otel/v1/metrics", "redkite.memory.used", "redkite.commands.processed", "db.operation.name", "redkite.run_id", "service.name");
        receiver.Await("/otel/v1/traces", "DEBUG", "db.operation.name", "redkite.client_id");
        Assert.All(receiver.Requests, request => Assert.Equal("application/x-protobuf", request.ContentType));
        Assert.DoesNotContain(receiver.Requests, request => request.Body.Contains("secret", StringComparison.Ordinal));
    }

    [Fact]
    public void Server_serves_without_a_collector()
    {
        Assert.SkipUnless(ServerProgram.UnderTest.IsRedKite, "Redis has no OTLP");
        using ServerProcess server = ServerProcess.Start(ServerProgram.UnderTest, "--otlp-endpoint", $"http://127.0.0.1:{LoopbackPort.Next()}", "--otlp-interval-seconds", "1");
        using RespConnection client = RespConnection.Connect(server.Port);
        for (int i = 0; i < 3; i++)
        {
            client.Run("INCR n").IsInteger(i + 1);
            Thread.Sleep(1000);
        }
    }

    [Fact]
    public async Task Endpoint_that_is_no_address_is_refused_at_start()
    {
        Assert.SkipUnless(ServerProgram.UnderTest.IsRedKite, "Redis has no OTLP");
        ChildProgram refused = await RedKite("--port", "0", "--otlp-endpoint", "collector:4318");
        Assert.Equal(1, refused.ExitCode);
        Assert.Contains("otlp-endpoint 'collector:4318': not an address that begins with http:// or https://", refused.Errors, StringComparison.Ordinal);
    }

    private static Task<ChildProgram> RedKite(params string[] arguments) =>
        ChildProgram.Run("dotnet", [Path.Combine(RepositoryRoot.Path, "artifacts", "bin", "RedKite.Host", RepositoryRoot.Configuration, "redkite.dll"), .. arguments]);

    private sealed class Receiver : IDisposable
    {
        private readonly HttpListener _listener = new();
        private readonly ConcurrentQueue<(string Path, string? ContentType, string Body)> _requests = new();

        internal Receiver()
        {
            Address = string.Create(CultureInfo.InvariantCulture, $"http://127.0.0.1:{LoopbackPort.Next()}/otel");
            _listener.Prefixes.Add(Address + "/");
            _listener.Start();
            _ = Task.Run(Receive);
        }

        internal string Address { get; }

        internal IReadOnlyCollection<(string Path, string? ContentType, string Body)> Requests => _requests;

        // Texts are readable in the encoded form.
        internal void Await(string path, params string[] texts) =>
            Assert.True(SpinWait.SpinUntil(() => _requests.Any(request => request.Path == path && texts.All(text => request.Body.Contains(text, StringComparison.Ordinal))), PatienceMs), $"{path} gets {string.Join(", ", texts)}; requests: {string.Join(", ", _requests.Select(request => request.Path))}");

        public void Dispose() => _listener.Close();

        private async Task Receive()
        {
            while (_listener.IsListening)
            {
                HttpListenerContext context;
                try
                {
                    context = await _listener.GetContextAsync();
                }
                catch (Exception failure) when (failure is HttpListenerException or ObjectDisposedException)
                {
                    return;
                }

                using var body = new MemoryStream();
                await context.Request.InputStream.CopyToAsync(body);
                _requests.Enqueue((context.Request.Url!.AbsolutePath, context.Request.ContentType, Encoding.Latin1.GetString(body.ToArray())));
                context.Response.ContentType = "application/x-protobuf"; // an empty message: everything was accepted
                context.Response.Close();
            }
        }
    }
}
