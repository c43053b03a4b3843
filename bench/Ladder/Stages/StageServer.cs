using System.Net;
using System.Net.Sockets;
using System.Text;

namespace RedKite.Ladder.Stages;

/// <summary>What all stages share: the listener on loopback, and a task for each client that comes.</summary>
internal sealed class StageServer : IDisposable
{
    private readonly TcpListener _listener;
    private readonly IStage _stage;

    /// <param name="port">0: any that is free.</param>
    /// <exception cref="SocketException">The port is taken.</exception>
    internal StageServer(IStage stage, int port)
    {
        _stage = stage;
        _listener = new TcpListener(IPAddress.Loopback, port);
        _listener.Start();
    }

    internal int Port => ((IPEndPoint)_listener.LocalEndpoint).Port;

    /// <summary>Takes clients until the process ends.</summary>
    internal async Task RunAsync()
    {
        while (true)
        {
            Socket client = await _listener.AcceptSocketAsync();
            _ = Task.Run(() => ServeAsync(client));
        }
    }

    public void Dispose() => _listener.Dispose();

    private async Task ServeAsync(Socket client)
    {
        try
        {
            client.NoDelay = true;
            await using var stream = new NetworkStream(client, ownsSocket: true);
            try
            {
                await _stage.ServeAsync(stream);
            }
            catch (ProtocolException wrong)
            {
                await stream.WriteAsync(Encoding.Latin1.GetBytes($"-ERR Protocol error: {wrong.Message}\r\n"));
            }
        }
        catch (Exception left) when (left is IOException or SocketException)
        {
            // The client has closed the connection while something was under way.
        }
    }
}
